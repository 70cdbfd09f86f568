package forked

import (
	"syscall"
	"unsafe"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

const (
	sysCloseRange = 436 // Linux 5.9, one number on every architecture
	fDupfdCloexec = 1030
	maxFD         = uintptr(^uint32(0))
)

// run is the child's life. It never returns.
//
//go:nosplit
//go:norace
func run(r *Request) {
	if errno := placeDescriptors(r); errno != 0 {
		fault(uintptr(r.FDs[0]), StepDescriptors, errno)
	}
	base, errno := mapPlan(plan.PlanFD)
	if errno != 0 {
		fault(plan.ChannelFD, StepMap, errno)
	}
	steps := load32(base, plan.OffSteps)
	for i := uintptr(0); i < steps; i++ {
		if errno, ok := execute(base, plan.HeaderSize+i*plan.StepSize); !ok {
			fault(plan.ChannelFD, uint32(i), errno)
		}
	}
	program, errno := mapPlan(plan.ProgramFD) // which came with the request, or by a step
	if errno != 0 {
		fault(plan.ChannelFD, StepMap, errno)
	}
	reap(start(program), r)
}

// placeDescriptors brings the request's descriptors to plan.ChannelFD and the places behind it, and closes everything
// else that the forking process has open: descriptors of other calls, its sockets, its standard streams.
//
//go:nosplit
//go:norace
func placeDescriptors(r *Request) syscall.Errno {
	n := r.N
	if n < 4 || n > plan.MaxFDs {
		return syscall.EINVAL
	}
	if !inOrder(r) {
		if errno := moveAbove(r); errno != 0 {
			return errno
		}
	}
	for i := 0; i < n; i++ {
		to := plan.ChannelFD + uintptr(i)
		if uintptr(r.FDs[i]) == to {
			return syscall.EINVAL // dup3(2) refuses it, and inOrder has ruled it out
		}
		_, _, errno := syscall.RawSyscall6(syscall.SYS_DUP3, uintptr(r.FDs[i]), to, syscall.O_CLOEXEC, 0, 0, 0)
		if errno != 0 {
			return errno
		}
	}
	if errno := closeRange(0, plan.ChannelFD-1); errno != 0 {
		return errno
	}
	return closeRange(plan.ChannelFD+uintptr(n), maxFD)
}

// inOrder reports whether the descriptors can be brought to their places one after the other: none of them is where an
// earlier one, or itself, belongs.
//
//go:nosplit
//go:norace
func inOrder(r *Request) bool {
	for i := 0; i < r.N; i++ {
		if fd := uintptr(r.FDs[i]); fd >= plan.ChannelFD && fd <= plan.ChannelFD+uintptr(i) {
			return false
		}
	}
	return true
}

// moveAbove moves the descriptors above every place.
//
//go:nosplit
//go:norace
func moveAbove(r *Request) syscall.Errno {
	above := plan.ChannelFD + uintptr(r.N) // no higher than need be: the limit on open files may be low
	for i := 0; i < r.N; i++ {
		fd, _, errno := syscall.RawSyscall6(syscall.SYS_FCNTL, uintptr(r.FDs[i]), fDupfdCloexec, above, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		r.FDs[i] = int32(fd) // the child's own copy
	}
	return 0
}

//go:nosplit
//go:norace
func closeRange(first, last uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(sysCloseRange, first, last, 0, 0, 0, 0)
	return errno
}

// mapPlan maps a plan privately, so that it can be written to, and turns the offsets in it into addresses.
//
//go:nosplit
//go:norace
func mapPlan(fd uintptr) (base unsafe.Pointer, errno syscall.Errno) {
	size, _, errno := syscall.RawSyscall6(syscall.SYS_LSEEK, fd, 0, 2 /* SEEK_END */, 0, 0, 0)
	if errno != 0 {
		return nil, errno
	}
	addr, _, errno := syscall.RawSyscall6(syscall.SYS_MMAP, 0, size,
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_POPULATE, fd, 0)
	if errno != 0 {
		return nil, errno
	}
	base = pointer(addr)
	if size < plan.HeaderSize || *(*uint64)(base) != plan.Magic || load32(base, plan.OffSize) != size {
		return nil, syscall.EBADMSG
	}
	relocs, n := load32(base, plan.OffRelocs), load32(base, plan.NumRelocs)
	for i := uintptr(0); i < n; i++ {
		at := (*uint64)(unsafe.Add(base, load32(base, relocs+4*i)))
		*at += uint64(addr)
	}
	_, _, errno = syscall.RawSyscall6(syscall.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	return base, errno
}

// pointer turns the kernel's word for a mapping into a pointer. The mapping is not Go memory.
//
//go:nosplit
//go:norace
func pointer(addr uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

//go:nosplit
//go:norace
func load32(base unsafe.Pointer, off uintptr) uintptr {
	return uintptr(*(*uint32)(unsafe.Add(base, off)))
}

//go:nosplit
//go:norace
func load64(base unsafe.Pointer, off uintptr) uint64 {
	return *(*uint64)(unsafe.Add(base, off))
}

// execute carries out the step at offset off. It reports false, with an errno or 0, when the step did not do what the
// plan wants.
//
//go:nosplit
//go:norace
func execute(base unsafe.Pointer, off uintptr) (syscall.Errno, bool) {
	a0 := argument(base, off, 0)
	a1 := argument(base, off, 1)
	a2 := argument(base, off, 2)
	switch plan.Op(*(*uint8)(unsafe.Add(base, off+plan.StepOp))) {
	case plan.OpCall:
		return call(base, off, a0, a1, a2)
	case plan.OpPut:
		if a2 == 4 {
			*(*uint32)(pointer(a0)) = uint32(a1)
		} else {
			*(*uint64)(pointer(a0)) = uint64(a1)
		}
		return 0, true
	case plan.OpSame:
		for i := uintptr(0); i < a2; i++ {
			if *(*uint8)(pointer(a0 + i)) != *(*uint8)(pointer(a1 + i)) {
				return 0, false
			}
		}
		return 0, true
	case plan.OpWait:
		n, _, errno := syscall.RawSyscall6(syscall.SYS_READ, a0, a1, a2, 0, 0, 0)
		return errno, errno == 0 && n == a2
	default:
		return syscall.ENOSYS, false
	}
}

// call makes the step's system call and keeps its result.
//
//go:nosplit
//go:norace
func call(base unsafe.Pointer, off, a0, a1, a2 uintptr) (syscall.Errno, bool) {
	nr := number(*(*uint8)(unsafe.Add(base, off+plan.StepCall)))
	result, _, errno := syscall.RawSyscall6(nr, a0, a1, a2,
		argument(base, off, 3), argument(base, off, 4), argument(base, off, 5))
	if errno != 0 {
		return errno, uintptr(errno) == load32(base, off+plan.StepErrno)
	}
	if dst := load32(base, off+plan.StepDst); dst != uintptr(plan.NoRegister) {
		*(*uint64)(unsafe.Add(base, load32(base, plan.OffRegs)+8*dst)) = uint64(result)
	}
	want := int64(load64(base, off+plan.StepWant))
	return 0, want == plan.AnyResult || want == int64(result)
}

// argument is the value of a step's argument i.
//
//go:nosplit
//go:norace
func argument(base unsafe.Pointer, off, i uintptr) uintptr {
	v := uintptr(load64(base, off+plan.StepArgs+8*i))
	switch plan.Kind(*(*uint8)(unsafe.Add(base, off+plan.StepKinds+i))) {
	case plan.KindAddress:
		return uintptr(base) + v
	case plan.KindRegister:
		return uintptr(load64(base, load32(base, plan.OffRegs)+8*v))
	default:
		return v
	}
}

// start starts the program and returns its pid. From here on the child holds nothing but its channel and
// the means to have it read.
//
//go:nosplit
//go:norace
func start(base unsafe.Pointer) uintptr {
	args := execArgs{
		paths: uintptr(base) + load32(base, plan.OffPaths),
		argv:  uintptr(base) + load32(base, plan.OffArgv),
		env:   uintptr(base) + load32(base, plan.OffEnv),
	}
	pid := vforkExec(&args)
	if int64(pid) < 0 {
		fault(plan.ChannelFD, StepFork, syscall.Errno(-pid))
	}
	if args.errno != 0 {
		fault(plan.ChannelFD, StepStart, syscall.Errno(-args.errno))
	}
	// Holding the program's streams would keep their readers from ever seeing the end.
	errno := closeRange(0, plan.ChannelFD-1)
	if errno == 0 {
		errno = closeRange(plan.AttentionFD+1, maxFD)
	}
	if errno != 0 {
		fault(plan.ChannelFD, StepDescriptors, errno)
	}
	send(plan.ChannelFD, &Record{Kind: RecordStarted})
	return pid
}

// fault reports a failed step and ends the child.
//
//go:nosplit
//go:norace
func fault(fd uintptr, step uint32, errno syscall.Errno) {
	send(fd, &Record{Kind: RecordFault, Step: step, Errno: uint32(errno)})
	exit(failedExit)
}

// send writes one record. Nobody there to take it is no reason to do more: the child is about to be killed then.
//
//go:nosplit
//go:norace
func send(fd uintptr, rec *Record) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(rec)), unsafe.Sizeof(*rec), 0, 0, 0)
}

// attend wakes the supervisor up to read the channel. Otherwise it reads it when the child has ended, which is soon, and one
// wake-up is enough.
//
//go:nosplit
//go:norace
func attend() {
	one := uint64(1)
	_, _, _ = syscall.RawSyscall6(syscall.SYS_WRITE, plan.AttentionFD, uintptr(unsafe.Pointer(&one)), unsafe.Sizeof(one), 0, 0, 0)
}

//go:nosplit
//go:norace
func exit(code uintptr) {
	for {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}
