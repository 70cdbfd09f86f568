#include "textflag.h"

// Layout of execArgs (start_linux.go): paths 0, argv 8, env 16, mask 24, errno 32.
//
// func vforkExec(args *execArgs) uintptr
//
// In the child, SVC changes only R0, and nothing below touches the stack, so the frames that the sleeping parent comes
// back to are as it left them. The return address is in R30 and stays there.
TEXT ·vforkExec(SB), NOSPLIT|NOFRAME, $0-16
	MOVD	args+0(FP), R19
	MOVD	$0x4111, R0	// CLONE_VFORK | CLONE_VM | SIGCHLD
	MOVD	ZR, R1		// the same stack
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8	// clone
	SVC
	CBZ	R0, child
	MOVD	R0, ret+8(FP)
	RET

child:
	MOVD	$2, R0		// SIG_SETMASK
	ADD	$24, R19, R1
	MOVD	ZR, R2
	MOVD	$8, R3
	MOVD	$135, R8	// rt_sigprocmask
	SVC
	CBNZ	R0, failed	// never seen; without the mask the program would be deaf
	MOVD	0(R19), R20	// the path to try
	MOVD	$-2, R21	// the errno to report: ENOENT, until a path says more
next:
	MOVD	(R20), R0
	CBZ	R0, report
	MOVD	8(R19), R1
	MOVD	16(R19), R2
	MOVD	$221, R8	// execve returns only when it failed
	SVC
	ADD	$8, R20
	CMN	$2, R0		// ENOENT: the next one
	BEQ	next
	CMN	$20, R0		// ENOTDIR: the next one
	BEQ	next
	CMN	$13, R0		// EACCES: the next one, but remember it, as execvp(3) does
	BNE	failed
	MOVD	R0, R21
	B	next
failed:
	MOVD	R0, R21
report:
	MOVD	R21, 32(R19)
	MOVD	$127, R0
	MOVD	$94, R8		// exit_group
	SVC
	BRK
