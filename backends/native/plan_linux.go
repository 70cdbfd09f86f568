package native

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// sealed puts an encoded plan into a memfd that nobody can change any more.
func sealed(p *plan.Plan) (*os.File, error) {
	data, err := p.Encode()
	if err != nil {
		return nil, err
	}
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
