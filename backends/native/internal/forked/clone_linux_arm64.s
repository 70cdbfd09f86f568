#include "textflag.h"

// func cloneOnStack(args *cloneArgs, size uintptr, stack, request unsafe.Pointer) uintptr
//
// SVC changes only R0. All signals are blocked, so nobody else looks at the stack pointer while it does not point into
// the goroutine's stack.
TEXT ·cloneOnStack(SB), NOSPLIT|NOFRAME, $0-40
	MOVD	args+0(FP), R0
	MOVD	size+8(FP), R1
	MOVD	stack+16(FP), R19
	MOVD	request+24(FP), R20
	MOVD	RSP, R21
	MOVD	R19, RSP
	MOVD	$435, R8	// clone3
	SVC
	CBZ	R0, child
	MOVD	R21, RSP
	MOVD	R0, ret+32(FP)
	RET

child:
	SUB	$32, RSP
	MOVD	R20, 8(RSP)	// run's argument; 0(RSP) is for its link register
	BL	·run(SB)
	BRK			// run never returns
