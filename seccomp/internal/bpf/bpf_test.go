package bpf

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	d := Data{Nr: 7, Arch: 0xc000003e, Args: [6]uint64{0x1122334455667788}}
	tests := map[string]struct {
		prog []Insn
		want uint32
	}{
		"return":          {[]Insn{{Op: Ret, K: Allow}}, Allow},
		"number":          {[]Insn{{Op: Load, K: OffNr}, {Op: JEq, JF: 1, K: 7}, {Op: Ret, K: 1}, {Op: Ret, K: 2}}, 1},
		"architecture":    {[]Insn{{Op: Load, K: OffArch}, {Op: JEq, JF: 1, K: 7}, {Op: Ret, K: 1}, {Op: Ret, K: 2}}, 2},
		"low half":        {[]Insn{{Op: Load, K: OffArgs}, {Op: JEq, JF: 1, K: 0x55667788}, {Op: Ret, K: 1}, {Op: Ret, K: 2}}, 1},
		"high half":       {[]Insn{{Op: Load, K: OffArgs + 4}, {Op: JEq, JF: 1, K: 0x11223344}, {Op: Ret, K: 1}, {Op: Ret, K: 2}}, 1},
		"mask":            {[]Insn{{Op: Load, K: OffArgs}, {Op: And, K: 0xff}, {Op: JEq, JF: 1, K: 0x88}, {Op: Ret, K: 1}, {Op: Ret, K: 2}}, 1},
		"greater, equal":  {[]Insn{{Op: Load, K: OffNr}, {Op: JGt, JF: 1, K: 7}, {Op: Ret, K: 1}, {Op: Ret, K: 2}}, 2},
		"at least, equal": {[]Insn{{Op: Load, K: OffNr}, {Op: JGe, JF: 1, K: 7}, {Op: Ret, K: 1}, {Op: Ret, K: 2}}, 1},
		"bits":            {[]Insn{{Op: Load, K: OffNr}, {Op: JSet, JF: 1, K: 8}, {Op: Ret, K: 1}, {Op: Ret, K: 2}}, 2},
		"jump":            {[]Insn{{Op: Jump, K: 1}, {Op: Ret, K: 1}, {Op: Ret, K: 2}}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, Check(tt.prog))
			got, err := Run(tt.prog, d)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := map[string][]Insn{
		"empty":              {},
		"no return":          {{Op: Load, K: OffNr}},
		"jump past the end":  {{Op: Jump, K: 1}, {Op: Ret}},
		"jump that wraps":    {{Op: Jump, K: ^uint32(0)}, {Op: Ret}},
		"true past the end":  {{Op: JEq, JT: 1}, {Op: Ret}},
		"false past the end": {{Op: JEq, JF: 1}, {Op: Ret}},
		"unaligned load":     {{Op: Load, K: 2}, {Op: Ret}},
		"load past the data": {{Op: Load, K: 64}, {Op: Ret}},
		"unknown operation":  {{Op: 0x07}, {Op: Ret}},
		"too long":           append(make([]Insn, MaxLen), Insn{Op: Ret}),
	}
	for name, prog := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(Encode(prog))
			assert.Error(t, err)
		})
	}
	_, err := Decode(Encode([]Insn{{Op: Ret}})[:7])
	assert.Error(t, err)
}

// FuzzDecode: what decodes encodes to the same bytes, and runs to an end without a panic.
func FuzzDecode(f *testing.F) {
	f.Add(Encode([]Insn{{Op: Load, K: OffNr}, {Op: JEq, JT: 1, K: 7}, {Op: Ret, K: 1}, {Op: Ret, K: Allow}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		prog, err := Decode(raw)
		if err != nil {
			return
		}
		assert.Equal(t, raw, Encode(prog))
		_, err = Run(prog, Data{Nr: 7})
		assert.NoError(t, err)
	})
}
