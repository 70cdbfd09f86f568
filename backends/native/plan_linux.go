package native

import (
	"os"
	"reflect"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// shape is the compiled plan of a specification, sealed in memory. Calls with the same specification share it; what
// they run comes beside it.
type shape struct {
	spec confine.Spec
	plan *plan.Plan
	file *os.File
}

// shapeCache keeps the shapes used last. A shape that is dropped may still be on its way to a spawner, so its memory
// goes when nobody refers to it any more.
type shapeCache struct {
	mu   sync.Mutex
	list recent[*shape]
}

const maxShapes = 16

func (c *shapeCache) get(spec confine.Spec) (*shape, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.list.find(func(s *shape) bool { return reflect.DeepEqual(s.spec, spec) })
	if ok {
		s.spec = spec // equal, and what it points to is quicker to compare with the next one
		return s, nil
	}
	s, err := newShape(spec)
	if err != nil {
		return nil, err
	}
	c.list.add(s, maxShapes)
	return s, nil
}

// close gives the shapes' memory back at once. No call may be under way.
func (c *shapeCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.list {
		s.file.Close()
	}
	c.list = nil
}

func newShape(spec confine.Spec) (*shape, error) {
	p, err := confine.Compile(spec)
	if err != nil {
		return nil, err
	}
	f, err := sealPlan(p)
	if err != nil {
		return nil, err
	}
	return &shape{spec: spec, plan: p, file: f}, nil
}

// sealPlan puts a plan where init finds it. What init takes as it is, is looked at once before.
func sealPlan(p *plan.Plan) (*os.File, error) {
	data, err := p.Encode()
	if err != nil {
		return nil, err
	}
	if _, err := plan.Decode(data); err != nil {
		return nil, err
	}
	return sealed(data)
}

// sealed puts an encoded plan into a memfd that nobody can change any more.
func sealed(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "plan")
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, err
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	if err != nil {
		f.Close()
		return nil, os.NewSyscallError("fcntl", err)
	}
	return f, nil
}
