package native

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	defaultIDBase  = 1879048192 // 0x70000000: above every range that distributions hand out
	defaultIDCount = 1 << 20
	// blockSize is how many host ids one instance takes at a time: its spawners' own, and one for each concurrent call.
	blockSize = 1024
	// minIDBase keeps the range away from accounts, listed or not.
	minIDBase       = 1 << 16
	defaultStateDir = "/run/toolcell"
)

// idBlock is a range of host ids that no other instance on this machine uses: a lock on one byte of a file says so, and
// ends with the process.
type idBlock struct {
	base uint32
	lock *os.File

	mu   sync.Mutex
	free []uint32
}

// takeBlock locks the first free block of the range. Blocks that an account or a range of subordinate ids lies in are
// passed over.
func takeBlock(stateDir string, base, count uint32) (*idBlock, error) {
	if base == 0 {
		base = defaultIDBase
	}
	if count == 0 {
		count = defaultIDCount
	}
	if stateDir == "" {
		stateDir = defaultStateDir
	}
	if base < minIDBase {
		return nil, unavailable("choose host ids", fmt.Errorf("the range begins at %d, where accounts are", base), "begin at 65536 or above")
	}
	if count < blockSize || base > 1<<32-1-count {
		return nil, unavailable("choose host ids", fmt.Errorf("the range %d+%d is no range of at least %d ids", base, count, blockSize), "configure another range")
	}
	taken, err := accountRanges("/etc/passwd", "/etc/group", "/etc/subuid", "/etc/subgid")
	if err != nil {
		return nil, unavailable("choose host ids", err, "")
	}
	here, err := mappedRanges("/proc/self/uid_map", "/proc/self/gid_map")
	if err != nil {
		return nil, unavailable("choose host ids", err, "")
	}
	f, err := openLockFile(stateDir)
	if err != nil {
		return nil, unavailable("choose host ids", err, "configure a state directory that this user can write to")
	}
	exists := false
	for b := uint32(0); b+blockSize <= count; b += blockSize {
		if !within(here, base+b) {
			continue
		}
		exists = true
		if overlaps(taken, base+b) {
			continue
		}
		ok, err := tryLock(f, int64(base+b))
		if err != nil {
			f.Close()
			return nil, unavailable("choose host ids", err, "")
		}
		if ok {
			return newBlock(base+b, f), nil
		}
	}
	f.Close()
	if !exists {
		return nil, unavailable("choose host ids", fmt.Errorf("the user namespace that this runs in has no %d ids in the range %d+%d", blockSize, base, count),
			"configure a range that /proc/self/uid_map and gid_map contain, or run this as an ordinary user")
	}
	return nil, unavailable("choose host ids", errors.New("every block of the range is in use"), "configure a larger range, or end other instances")
}

func newBlock(base uint32, lock *os.File) *idBlock {
	b := &idBlock{base: base, lock: lock}
	for k := uint32(blockSize - 1); k > 0; k-- {
		b.free = append(b.free, k)
	}
	return b
}

func openLockFile(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, "ids"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
}

// tryLock takes an open-file-description lock on one byte (fcntl(2)), which belongs to this descriptor alone.
func tryLock(f *os.File, at int64) (bool, error) {
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

// take returns an id that no running sandbox has, relative to the block. The one given back last comes first, since
// user namespaces for it may be at hand.
func (b *idBlock) take() (uint32, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.free)
	if n == 0 {
		return 0, unavailable("choose a host id", fmt.Errorf("%d calls run at once", blockSize-1), "wait for one to end")
	}
	k := b.free[n-1]
	b.free = b.free[:n-1]
	return k, nil
}

func (b *idBlock) give(k uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, k)
}

func (b *idBlock) close() { b.lock.Close() }

// idRange is a range of ids that belongs to somebody.
type idRange struct{ first, count uint64 }

func overlaps(ranges []idRange, base uint32) bool {
	first := uint64(base)
	return slices.ContainsFunc(ranges, func(r idRange) bool { return r.first < first+blockSize && first < r.first+r.count })
}

// mappedRanges reads the ids that this process's user namespace has, of users and of groups (user_namespaces(7)).
func mappedRanges(files ...string) ([][]idRange, error) {
	var out [][]idRange
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var ranges []idRange
		for line := range strings.Lines(string(data)) {
			var r idRange
			var outside uint64
			if _, err := fmt.Sscan(line, &r.first, &outside, &r.count); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			ranges = append(ranges, r)
		}
		out = append(out, ranges)
	}
	return out, nil
}

// within reports whether each list has a range that holds the whole block at base.
func within(lists [][]idRange, base uint32) bool {
	first := uint64(base)
	for _, ranges := range lists {
		if !slices.ContainsFunc(ranges, func(r idRange) bool { return r.first <= first && first+blockSize <= r.first+r.count }) {
			return false
		}
	}
	return true
}

// accountRanges reads the ids of accounts (passwd(5), group(5)) and of subordinate ranges (subuid(5)). A file that is
// not there claims nothing.
func accountRanges(passwd, group, subuid, subgid string) ([]idRange, error) {
	var out []idRange
	for _, f := range []struct {
		path         string
		first, count int // fields; a count of 0 is one id
	}{{passwd, 2, 0}, {passwd, 3, 0}, {group, 2, 0}, {subuid, 1, 2}, {subgid, 1, 2}} {
		r, err := readRanges(f.path, f.first, f.count)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		out = append(out, r...)
	}
	return out, nil
}

func readRanges(path string, first, count int) ([]idRange, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []idRange
	for line := range strings.Lines(string(data)) { // of any length: a group's members are all on one
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(fields) <= max(first, count) {
			continue
		}
		r := idRange{count: 1}
		if r.first, err = strconv.ParseUint(fields[first], 10, 32); err != nil {
			continue // a comment, or an NIS entry
		}
		if count > 0 {
			if r.count, err = strconv.ParseUint(fields[count], 10, 33); err != nil {
				continue
			}
		}
		out = append(out, r)
	}
	return out, nil
}
