package native

import (
	"context"
	"os"
	"sync"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
)

// userNSCache keeps the user namespaces of id-mapped mounts, which cost more to make than a mount. They have no process
// and no right; each is a map.
type userNSCache struct {
	mu      sync.Mutex
	entries map[idMap]*os.File
	waiting *os.File
}

// maxUserNS bounds the cache; beyond it everything is made anew.
const maxUserNS = 256

// with calls use with the namespace of a map, which is made if it is not there. The cache is locked meanwhile, so that
// nobody drops the namespace; mount_setattr(2), which it is for, takes a reference of its own and is quick.
func (c *userNSCache) with(ctx context.Context, s *lanes, m idMap, use func(*os.File) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := c.get(ctx, s, m)
	if err != nil {
		return err
	}
	return use(f)
}

func (c *userNSCache) get(ctx context.Context, s *lanes, m idMap) (*os.File, error) {
	if f, ok := c.entries[m]; ok {
		return f, nil
	}
	if err := c.init(); err != nil {
		return nil, err
	}
	f, err := s.userNS(ctx, c.waiting, m)
	if err != nil {
		return nil, err
	}
	c.entries[m] = f
	return f, nil
}

// init makes room and the plan of the process that a namespace is made with.
func (c *userNSCache) init() error {
	if c.entries == nil || len(c.entries) >= maxUserNS {
		for _, f := range c.entries {
			f.Close()
		}
		c.entries = make(map[idMap]*os.File)
	}
	if c.waiting != nil {
		return nil
	}
	p, err := confine.Waiting()
	if err != nil {
		return err
	}
	c.waiting, err = sealPlan(p)
	return err
}

func (c *userNSCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.entries {
		f.Close()
	}
	c.entries = nil
	if c.waiting != nil {
		c.waiting.Close()
		c.waiting = nil
	}
}
