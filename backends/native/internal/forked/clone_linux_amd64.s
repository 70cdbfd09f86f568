#include "textflag.h"

// func cloneOnStack(args *cloneArgs, size uintptr, stack, request unsafe.Pointer) uintptr
//
// SYSCALL changes only AX, CX and R11. All signals are blocked, so nobody else looks at the stack pointer while it does
// not point into the goroutine's stack.
TEXT ·cloneOnStack(SB), NOSPLIT|NOFRAME, $0-40
	MOVQ	args+0(FP), DI
	MOVQ	size+8(FP), SI
	MOVQ	stack+16(FP), R12
	MOVQ	request+24(FP), R13
	MOVQ	SP, BX
	MOVQ	R12, SP
	MOVL	$435, AX	// clone3
	SYSCALL
	TESTQ	AX, AX
	JEQ	child
	MOVQ	BX, SP
	MOVQ	AX, ret+32(FP)
	RET

child:
	SUBQ	$16, SP
	MOVQ	R13, 0(SP)	// run's argument
	CALL	·run(SB)
	INT	$3		// run never returns
