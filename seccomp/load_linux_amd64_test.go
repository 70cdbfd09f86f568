package seccomp

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Machine code of programs that make one call by another table and exit with status 0.
var (
	exitZero = []byte{
		0x31, 0xff, // xor edi, edi
		0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, 60 (exit)
		0x0f, 0x05, // syscall
	}
	getpid = []byte{
		0xb8, 0x27, 0x00, 0x00, 0x00, // mov eax, 39
		0x0f, 0x05, // syscall
	}
	getpidX32 = []byte{
		0xb8, 0x27, 0x00, 0x00, 0x40, // mov eax, 0x40000000 | 39
		0x0f, 0x05, // syscall
	}
	getpid386 = []byte{
		0xb8, 0x14, 0x00, 0x00, 0x00, // mov eax, 20
		0xcd, 0x80, // int 0x80
	}
)

// TestOtherTablesDie runs hand-made programs. Unconfined each ends by itself, whether the kernel knows the call or
// answers ENOSYS; confined the call is the end.
func TestOtherTablesDie(t *testing.T) {
	for name, test := range map[string]struct {
		code []byte
		dies bool
	}{
		"own table": {getpid, false},
		"x32":       {getpidX32, true},
		"int 0x80":  {getpid386, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeELF(t, append(bytes.Clone(test.code), exitZero...))
			control := victimCommand(t, unconfined, "exec", path).Run()
			cmd := victimCommand(t, strict, "exec", path)
			err := cmd.Run()
			if !test.dies {
				require.NoError(t, control)
				assert.NoError(t, err)
				return
			}
			require.Error(t, err)
			if control != nil {
				// Not a feature that is missing but an entry that is closed already, for instance by ia32_emulation=0.
				t.Skipf("the kernel itself ends the program: %v", control)
			}
			assert.Equal(t, syscall.SIGSYS, signalOf(t, cmd))
		})
	}
}

// writeELF makes a static program of one segment.
func writeELF(t *testing.T, code []byte) string {
	t.Helper()
	const base, headers = 0x400000, 64 + 56
	size := uint64(headers + len(code))
	var b bytes.Buffer
	require.NoError(t, binary.Write(&b, binary.LittleEndian, elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Entry: base + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}))
	require.NoError(t, binary.Write(&b, binary.LittleEndian, elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: base, Paddr: base, Filesz: size, Memsz: size, Align: 0x1000,
	}))
	b.Write(code)
	path := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o755))
	return path
}
