#include "textflag.h"

// Layout of execArgs (start_linux.go): paths 0, argv 8, env 16, mask 24, errno 32.
//
// func vforkExec(args *execArgs) uintptr
//
// In the child, SYSCALL changes only AX, CX and R11, and nothing below touches the stack, so the return address and
// the frames that the sleeping parent comes back to are as it left them.
TEXT ·vforkExec(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ	args+0(FP), R12
	MOVQ	$0x4111, DI	// CLONE_VFORK | CLONE_VM | SIGCHLD
	XORL	SI, SI		// the same stack
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVL	$56, AX		// clone
	SYSCALL
	TESTQ	AX, AX
	JEQ	child
	MOVQ	AX, ret+8(FP)
	RET

child:
	MOVL	$2, DI		// SIG_SETMASK
	LEAQ	24(R12), SI
	XORL	DX, DX
	MOVL	$8, R10
	MOVL	$14, AX		// rt_sigprocmask
	SYSCALL
	TESTQ	AX, AX
	JNE	failed		// never seen; without the mask the program would be deaf
	MOVQ	0(R12), R13	// the path to try
	MOVQ	$-2, R8		// the errno to report: ENOENT, until a path says more
next:
	MOVQ	(R13), DI
	TESTQ	DI, DI
	JEQ	report
	MOVQ	8(R12), SI
	MOVQ	16(R12), DX
	MOVL	$59, AX		// execve returns only when it failed
	SYSCALL
	ADDQ	$8, R13
	CMPQ	AX, $-2		// ENOENT: the next one
	JEQ	next
	CMPQ	AX, $-20	// ENOTDIR: the next one
	JEQ	next
	CMPQ	AX, $-13	// EACCES: the next one, but remember it, as execvp(3) does
	JNE	failed
	MOVQ	AX, R8
	JMP	next
failed:
	MOVQ	AX, R8
report:
	MOVQ	R8, 32(R12)
	MOVL	$127, DI
	MOVL	$231, AX	// exit_group
	SYSCALL
	INT	$3
