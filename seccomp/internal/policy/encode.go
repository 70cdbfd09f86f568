package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode writes a profile as docker reads it, one row a line.
func (p *Profile) Encode() ([]byte, error) {
	rows := p.Syscalls
	head := *p
	head.Syscalls = []Row{}
	data, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode seccomp profile: %w", err)
	}
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(data, []byte("[]\n}")))
	separator := "[\n    "
	for _, r := range rows {
		row, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encode seccomp profile: %w", err)
		}
		b.WriteString(separator)
		b.Write(row)
		separator = ",\n    "
	}
	b.WriteString("\n  ]\n}\n")
	return b.Bytes(), nil
}
