package server

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Whatever a client writes on a line is a message or gets an answer that is one.
func FuzzDecode(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a","result":{}}`, `{"jsonrpc":"2.0","method":"x","params":[1]}`,
		`[]`, `{}`, `null`, `5`, `"x"`, `{"id":null}`, `{"id":1e400}`, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "\xff", `{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"ID":2,"Method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\ud83d\\ud83d"}}`, `{"jsonrpc":"2.0","id":7,"error":"x"}`,
		`{"jsonrpc":"2.0","id":-9007199254740992,"method":"tools/call","params":{"name":"x","arguments":[],"_meta":{"progressToken":1}}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return
		}
		msg, refused := decode(line)
		if refused == nil {
			sent, err := jsonrpc.EncodeMessage(msg)
			require.NoError(t, err)
			var before, after fields
			require.NoError(t, json.Unmarshal(line, &before))
			require.NoError(t, json.Unmarshal(sent, &after))
			if before["id"] != nil && string(before["id"]) != "-0" {
				assert.JSONEq(t, string(before["id"]), string(after["id"]), "an answer would go to the same id")
			}
			return
		}
		assert.Nil(t, msg)
		data, err := json.Marshal(refused)
		require.NoError(t, err)
		assert.Less(t, len(refused.err.Message), 5000)
		var a struct {
			Version string `json:"jsonrpc"`
			Error   struct{ Code int }
		}
		require.NoError(t, json.Unmarshal(data, &a))
		assert.Equal(t, "2.0", a.Version)
		assert.NotZero(t, a.Error.Code)
	})
}

// Whatever the arguments of a call are, the session is taken out of them and nothing else.
func FuzzSessionOf(f *testing.F) {
	for _, raw := range []string{`{"session_id":"s_1","path":"x"}`, `{"session_id":5}`, `{"session_id":null}`, `{"code":"session_id"}`, `["session_id"]`, ``, `{"session_id":"a","session_id":"b"}`, `{"path":"a","path":"b"}`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, rest, err := sessionOf("read_file", raw)
		if err != nil {
			assert.Nil(t, rest)
			return
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(raw, &before) != nil {
			assert.Equal(t, string(raw), string(rest))
			return
		}
		if before == nil { // null
			return
		}
		require.NoError(t, json.Unmarshal(rest, &after))
		delete(before, sessionArgument)
		assert.Len(t, after, len(before))
	})
}
