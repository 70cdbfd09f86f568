package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// refusal is the answer to what is no message. Its id is null where there is none to answer to, which the SDK's own
// messages cannot say (JSON-RPC 2.0, section 5).
type refusal struct {
	id  json.RawMessage
	err *jsonrpc.Error
	// silent refusals are of what claims to be an answer: to answer that could go on for ever.
	silent bool
}

// MarshalJSON implements [json.Marshaler].
func (r *refusal) MarshalJSON() ([]byte, error) {
	id := r.id
	if id == nil {
		id = json.RawMessage("null")
	}
	return json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, r.err})
}

func refuse(id json.RawMessage, code int64, why string) *refusal {
	return &refusal{id: id, err: &jsonrpc.Error{Code: code, Message: why}}
}

// fields are the members of an object by their exact names, which encoding/json would take in any case.
type fields map[string]json.RawMessage

// text returns a member that is a string; ok is false of what is there and none.
func (f fields) text(name string) (s string, ok bool) {
	raw := f[name]
	if raw == nil {
		return "", true
	}
	return s, raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}

// maxName is how many bytes the name of a method or tool may have. It comes back in errors.
const maxName = 256

// decode reads one message, or says what is wrong with it.
func decode(data []byte) (jsonrpc.Message, *refusal) {
	m, refused := object(bytes.TrimSpace(data))
	if refused != nil {
		return nil, refused
	}
	id, isID := m["id"], identifies(m["id"])
	if !isID {
		id = nil
	}
	_, isCall := m["method"]
	why, code := m.fault(isID)
	var msg jsonrpc.Message
	if why == "" {
		var err error
		if msg, err = jsonrpc.DecodeMessage(data); err == nil {
			return msg, nil
		}
		why, code = cut(err.Error()), jsonrpc.CodeInvalidRequest
	}
	refused = refuse(id, code, why)
	refused.silent = !isCall && (m["result"] != nil || m["error"] != nil)
	return nil, refused
}

// object reads the members of a message.
func object(data []byte) (fields, *refusal) {
	if !utf8.Valid(data) {
		return nil, refuse(nil, jsonrpc.CodeParseError, "the message is no UTF-8")
	}
	var m fields
	err := json.Unmarshal(data, &m)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, refuse(nil, jsonrpc.CodeParseError, fmt.Sprintf("the message is no JSON: %s (byte %d)", syntax, syntax.Offset))
	case data[0] == '[':
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, "a batch is no message of this protocol: send one message at a time")
	case err != nil || m == nil:
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, "a message is an object")
	}
	if name := twice(data); name != "" {
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("%.60q is there twice", name))
	}
	return m, nil
}

// fault says what is wrong with a message's members, or "".
func (f fields) fault(isID bool) (why string, code int64) {
	method, isText := f.text("method")
	version, _ := f.text("jsonrpc")
	_, isCall := f["method"]
	code = jsonrpc.CodeInvalidRequest
	switch {
	case f["id"] != nil && !isID:
		return "an id is a string or a whole number of at most 2^53", code
	case version != "2.0":
		return `the version is missing or wrong: jsonrpc has to be "2.0"`, code
	case !isCall && f["result"] == nil && f["error"] == nil:
		return "it has no method, and is no answer", code
	case !isText || len(method) > maxName:
		return fmt.Sprintf("method has to be a string of at most %d bytes", maxName), code
	}
	for _, raw := range f {
		if half := halfPair(raw); half != "" {
			return half + " is half a character: escapes of this kind come in pairs", code
		}
	}
	if params := f["params"]; params != nil && params[0] != '{' && string(params) != "null" {
		return "params has to be an object", jsonrpc.CodeInvalidParams
	}
	if method == "tools/call" {
		return callFault(f["params"]), jsonrpc.CodeInvalidParams
	}
	return "", 0
}

// callFault says what is wrong with the parameters of a call but its arguments, or "". Those are the tool's to check.
func callFault(params json.RawMessage) string {
	var p, meta fields
	if params == nil || json.Unmarshal(params, &p) != nil || p == nil {
		return "params is missing: it has to be an object with the name of a tool and its arguments"
	}
	if name := twice(params); name != "" {
		return fmt.Sprintf("params: %.60q is there twice", name)
	}
	if name, ok := p.text("name"); !ok || name == "" || len(name) > maxName {
		return fmt.Sprintf("name has to be a tool's name, a string of at most %d bytes", maxName)
	}
	if p["_meta"] == nil || string(p["_meta"]) == "null" {
		return ""
	}
	if json.Unmarshal(p["_meta"], &meta) != nil {
		return "_meta has to be an object"
	}
	if token := meta["progressToken"]; token != nil && string(token) != "null" && !identifies(token) {
		return "a progressToken is a string or a whole number of at most 2^53"
	}
	return ""
}

// twice returns a member of an object that is there twice, or "". Readers differ in which of them they
// take: who looked at a message before, to allow it, has to have seen what the SDK reads.
func twice(object []byte) string {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return ""
		}
		if seen[name] {
			return name
		}
		seen[name] = true
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return ""
		}
	}
	return ""
}

// identifies reports whether a value can be an id: a string, or a whole number that survives where all numbers are doubles,
// as they are in the SDK.
func identifies(raw json.RawMessage) bool {
	if raw == nil {
		return false
	}
	if raw[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && -1<<53 <= n && n <= 1<<53
}

// halfPair returns the first escape in JSON that is one half of a surrogate pair without the other, or "". Decoders replace
// it without a word (RFC 8259, section 8.2).
func halfPair(raw []byte) string {
	for i := bytes.IndexByte(raw, '\\'); i >= 0 && i+1 < len(raw); {
		size := 2
		if raw[i+1] == 'u' {
			size = 6
			switch first, second := surrogate(raw[i:]), surrogate(raw[i+6:]); {
			case first == high && second == low:
				size = 12
			case first != none:
				return string(raw[i : i+6])
			}
		}
		next := bytes.IndexByte(raw[i+size:], '\\')
		if next < 0 {
			return ""
		}
		i += size + next
	}
	return ""
}

// The halves of a pair.
const (
	none = iota
	high
	low
)

// surrogate says which half of a pair the escape is that b begins with.
func surrogate(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || b[2]|0x20 != 'd' {
		return none
	}
	switch b[3] | 0x20 {
	case '8', '9', 'a', 'b':
		return high
	case 'c', 'd', 'e', 'f':
		return low
	}
	return none
}

// cut bounds what is said about a message that may be large.
func cut(s string) string {
	const most = 4000
	if len(s) <= most {
		return s
	}
	return string(bytes.ToValidUTF8([]byte(s[:most]), nil)) + "…"
}
