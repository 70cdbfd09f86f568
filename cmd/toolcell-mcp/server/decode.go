package server

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// refusal is the answer to what is no message. Its id is null where there is none to answer to, which the SDK's own
// messages cannot say (JSON-RPC 2.0, section 5).
type refusal struct {
	id  json.RawMessage
	err *jsonrpc.Error
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

// decode reads one message, or says what is wrong with it.
func decode(data []byte) (jsonrpc.Message, *refusal) {
	data = bytes.TrimSpace(data)
	switch {
	case !json.Valid(data):
		return nil, refuse(nil, jsonrpc.CodeParseError, "the line is no JSON")
	case data[0] == '[':
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, "a batch is no message of this protocol: send one message a line")
	case data[0] != '{':
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, "a message is an object")
	}
	id, ok := requestID(data)
	if !ok {
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, "an id is a string or a whole number")
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, refuse(id, jsonrpc.CodeInvalidRequest, err.Error())
	}
	return msg, nil
}

// requestID returns the id of a message, nil when it has none. It is false of one that cannot be an id.
func requestID(data []byte) (id json.RawMessage, ok bool) {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(data, &m); err != nil || m.ID == nil {
		return nil, err == nil
	}
	var text string
	var number int64
	return m.ID, json.Unmarshal(m.ID, &text) == nil && m.ID[0] == '"' || json.Unmarshal(m.ID, &number) == nil && m.ID[0] != 'n'
}
