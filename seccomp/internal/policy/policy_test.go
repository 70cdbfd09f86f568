package policy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/seccomp/internal/bpf"
)

func TestParseRefuses(t *testing.T) {
	const profile = `{"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38, "archMap": [], "syscalls": [%s]}`
	_, err := Parse(fmt.Appendf(nil, profile, `{"names": ["read"], "action": "SCMP_ACT_ALLOW"}`))
	require.NoError(t, err)
	for _, row := range []string{
		`{"names": [], "action": "SCMP_ACT_ALLOW"}`,
		`{"names": ["read"], "action": "SCMP_ACT_LOG"}`,
		`{"names": ["read"], "action": "SCMP_ACT_ALLOW", "errnoRet": 1}`,
		`{"names": ["read"], "action": "SCMP_ACT_ERRNO"}`,
		`{"names": ["read"], "action": "SCMP_ACT_ERRNO", "errnoRet": 4096}`,
		`{"names": ["read"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}}`,
		`{"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_NE"}]}`,
		`{"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 6, "value": 1, "op": "SCMP_CMP_MASKED_EQ"}]}`,
		`{"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 1, "valueTwo": 2, "op": "SCMP_CMP_MASKED_EQ"}]}`,
		`{"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 4294967296, "op": "SCMP_CMP_MASKED_EQ"}]}`,
		`{"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_MASKED_EQ"}, {"index": 0, "value": 2, "op": "SCMP_CMP_MASKED_EQ"}]}`,
	} {
		_, err := Parse(fmt.Appendf(nil, profile, row))
		assert.Error(t, err, row)
	}
	for _, p := range []string{`{}`, `{"defaultAction": "SCMP_ACT_ALLOW"}`, `{"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 1, "flags": []}`,
		`{"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 1, "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X32"]}]}`} {
		_, err := Parse([]byte(p))
		assert.Error(t, err, p)
	}
}

func masked(action string, index uint, mask, want uint64) Row {
	r := Row{Names: []string{"socket"}, Action: action, Args: []Arg{{index, mask, want, CmpMaskedEq}}}
	if action == ActErrno {
		r.ErrnoRet = 1
	}
	return r
}

func TestCover(t *testing.T) {
	set, unset := masked(ActErrno, 0, 4, 4), masked(ActAllow, 0, 4, 0)
	assert.NoError(t, Cover([]Row{set, unset}))
	assert.NoError(t, Cover([]Row{{Action: ActAllow}}), "a row without arguments matches everything")
	assert.Error(t, Cover(nil), "no row")
	assert.Error(t, Cover([]Row{set}), "half of the values are not matched")
	assert.Error(t, Cover([]Row{set, unset, masked(ActAllow, 1, 1, 1)}), "both match when both bits are set")
	assert.NoError(t, Cover([]Row{set, unset, masked(ActAllow, 0, 6, 2)}), "overlap with one verdict")
	assert.Error(t, Cover([]Row{masked(ActAllow, 0, 3, 0), masked(ActErrno, 0, 3, 1), masked(ActErrno, 0, 3, 2)}), "3 is missing")
}

func TestDecideRefusesDisagreement(t *testing.T) {
	rows := []Row{masked(ActErrno, 0, 4, 4), masked(ActAllow, 1, 1, 1)}
	_, err := Decide(rows, bpf.Errno|38, [6]uint64{4, 1})
	assert.Error(t, err)
	got, err := Decide(rows, bpf.Errno|38, [6]uint64{4 | 1<<40, 0})
	require.NoError(t, err)
	assert.EqualValues(t, bpf.Errno|1, got, "high halves are not looked at")
	got, err = Decide(rows, bpf.Errno|38, [6]uint64{})
	require.NoError(t, err)
	assert.EqualValues(t, bpf.Errno|38, got)
}

func TestExpand(t *testing.T) {
	otherwise := Row{Names: []string{"socket"}, Action: ActErrno, ErrnoRet: 97, Comment: "the rest"}
	plain := Row{Names: []string{"read", "write"}, Action: ActAllow}
	for name, listed := range map[string][]Row{
		"a value": {masked(ActAllow, 0, 0xffffffff, 16)},
		"a bit":   {masked(ActAllow, 3, 4, 4)},
		"values":  {masked(ActAllow, 0, 0xffffffff, 1), masked(ActAllow, 0, 0xffffffff, 2), masked(ActAllow, 0, 0xfffffff7, 2)},
		"two arguments": {{Names: []string{"socket"}, Action: ActAllow, Args: []Arg{
			{0, 0xffffffff, 16, CmpMaskedEq}, {2, 0xff, 3, CmpMaskedEq}}}, masked(ActAllow, 0, 0xffffffff, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			p := Profile{Syscalls: append(append([]Row{plain}, listed...), otherwise)}
			require.NoError(t, p.Expand())
			assert.Equal(t, []Row{plain}, p.Rows("read"))
			rows := p.Rows("socket")
			assert.NoError(t, Cover(rows))
			assert.Equal(t, listed, rows[:len(listed)])
			for _, r := range rows[len(listed):] {
				assert.NoError(t, r.check())
				assert.EqualValues(t, bpf.Errno|97, r.Verdict())
			}
		})
	}
}

func TestExpandRefusesAnOtherwiseForSeveralCalls(t *testing.T) {
	p := Profile{Syscalls: []Row{masked(ActAllow, 0, 1, 1), {Names: []string{"bind", "socket"}, Action: ActErrno, ErrnoRet: 1}}}
	assert.Error(t, p.Expand())
}

func TestEncodeParsesBack(t *testing.T) {
	p := Profile{DefaultAction: ActErrno, DefaultErrnoRet: 38, ArchMap: []Arch{{archX86_64, []string{}}},
		Syscalls: []Row{{Names: []string{"read"}, Action: ActAllow, Comment: "a, b"}, masked(ActErrno, 0, 1, 1)}}
	data, err := p.Encode()
	require.NoError(t, err)
	got, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, &p, got)
}
