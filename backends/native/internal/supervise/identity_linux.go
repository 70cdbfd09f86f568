package supervise

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// writeMaps gives a child its one user and one group, through its directory in /proc. Who has CAP_SETUID and CAP_SETGID in
// the child's parent namespace may, and anybody for the own ids (user_namespaces(7)).
func writeMaps(proc int, req *wire.Request) error {
	if req.Flags&wire.FlagDenySetgroups != 0 {
		if err := writeAt(proc, "setgroups", []byte("deny")); err != nil {
			return err
		}
	}
	if err := writeAt(proc, "gid_map", fmt.Appendf(nil, "%d %d 1\n", req.InsideGID, req.OutsideGID)); err != nil {
		return err
	}
	return writeAt(proc, "uid_map", fmt.Appendf(nil, "%d %d 1\n", req.InsideUID, req.OutsideUID))
}

// openProc opens /proc/PID of the namespace's own proc and makes sure that it is one (CVE-2025-52881 was a write to a
// procfs file that was not the one meant).
func openProc(pid int) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, fmt.Sprintf("/proc/%d", pid), &how)
	if err != nil {
		return -1, err
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if st.Type != unix.PROC_SUPER_MAGIC {
		unix.Close(fd)
		return -1, unix.EXDEV
	}
	return fd, nil
}

func writeAt(dir int, name string, data []byte) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.Write(fd, data)
	if err == nil && n != len(data) {
		return unix.EIO
	}
	return err
}

// UserNS serves a RequestUserNS: it makes a user namespace with the request's map and returns a descriptor of it. The
// request brings a plan that only waits; no process is left in the namespace.
func (s *Supervisor) UserNS(req *wire.Request, fds []int) (int, error) {
	c := newCall(req)
	defer c.close()
	if err := s.fork(c, req, fds); err != nil {
		return -1, err
	}
	defer func() {
		// The child waits on its channel for ever; neither call can fail on a child that is not reaped yet.
		_ = unix.PidfdSendSignal(c.pidfd, unix.SIGKILL, nil, 0)
		_, _ = unix.Wait4(c.pid, nil, unix.WALL, nil)
	}()
	proc, err := openProc(c.pid)
	if err != nil {
		return -1, err
	}
	defer unix.Close(proc)
	if err := writeMaps(proc, req); err != nil {
		return -1, err
	}
	return unix.Openat(proc, "ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}
