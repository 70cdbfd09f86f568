package server

import (
	"encoding/json"

	"github.com/soulacy/toolcell/sandbox/tools"
)

// The schemas of results are open: a field more is no error of a client's.
const (
	programSchema = `{
	"type": "object",
	"description": "What the program did. Output that is no UTF-8 is in stdout_base64 and stderr_base64.",
	"properties": {
		"session_id": {"type": "string", "description": "The session that the call worked in."},
		"id": {"type": "string"},
		"backend": {"type": "string"},
		"status": {"type": "string", "enum": ["exited", "signaled", "timeout", "cpu_timeout", "oom", "file_size", "canceled"]},
		"exit_code": {"type": ["integer", "null"], "description": "null unless status is exited"},
		"signal": {"type": ["string", "null"]},
		"stdout": {"type": "string"},
		"stderr": {"type": "string"},
		"stdout_base64": {"type": "string"},
		"stderr_base64": {"type": "string"},
		"stdout_truncated": {"type": "boolean"},
		"stderr_truncated": {"type": "boolean"},
		"stdout_bytes": {"type": "integer", "description": "all that the program wrote, kept or not"},
		"stderr_bytes": {"type": "integer"},
		"duration_ms": {"type": "number"},
		"cpu_ms": {"type": ["number", "null"]},
		"max_memory_bytes": {"type": ["integer", "null"]},
		"max_processes": {"type": ["integer", "null"]},
		"artifacts": {
			"type": "array",
			"description": "the files that came back, which are contents of the result",
			"items": {"type": "object", "properties": {"path": {"type": "string"}, "size": {"type": "integer"}}, "required": ["path", "size"]}
		},
		"enforcement_gaps": {
			"type": "array",
			"description": "the guarantees that did not hold, or hold but for what reason says; all others held in full",
			"items": {"type": "object", "properties": {"guarantee": {"type": "string"}, "enforced": {"type": "boolean"}, "reason": {"type": "string"}, "waived": {"type": "boolean"}}, "required": ["guarantee", "enforced", "reason", "waived"]}
		},
		"enforcement": {
			"type": "array",
			"description": "all guarantees with their mechanisms, when the request's _meta has github.com/soulacy/toolcell/enforcement: true",
			"items": {"type": "object", "properties": {"guarantee": {"type": "string"}, "enforced": {"type": "boolean"}, "mechanism": {"type": "string"}}, "required": ["guarantee", "enforced"]}
		},
		"hints": {"type": "array", "items": {"type": "string"}}
	},
	"required": ["id", "backend", "status", "exit_code", "signal", "stdout_truncated", "stderr_truncated", "stdout_bytes", "stderr_bytes", "duration_ms", "artifacts", "enforcement_gaps", "hints"]
}`
	writtenSchema = `{
	"type": "object",
	"properties": {"session_id": {"type": "string"}, "path": {"type": "string"}, "bytes": {"type": "integer"}},
	"required": ["session_id", "path", "bytes"]
}`
	contentSchema = `{
	"type": "object",
	"properties": {
		"session_id": {"type": "string"},
		"path": {"type": "string"},
		"content": {"type": "string"},
		"base64": {"type": "boolean", "description": "content is base64, since the file is no UTF-8"},
		"size": {"type": "integer", "description": "of the whole file"},
		"next_offset": {"type": "integer", "description": "where the next part begins; 0 when there is none"}
	},
	"required": ["session_id", "path", "content", "base64", "size", "next_offset"]
}`
	listingSchema = `{
	"type": "object",
	"properties": {
		"session_id": {"type": "string"},
		"path": {"type": "string"},
		"entries": {
			"type": "array",
			"items": {
				"type": "object",
				"properties": {"name": {"type": "string"}, "type": {"type": "string", "enum": ["file", "dir", "symlink", "other"]}, "size": {"type": "integer"}},
				"required": ["name", "type", "size"]
			}
		},
		"truncated": {"type": "boolean"}
	},
	"required": ["session_id", "path", "entries", "truncated"]
}`
)

// outputSchema is the schema of a tool's structured result.
func outputSchema(n tools.Name) json.RawMessage {
	switch n {
	case tools.NameWriteFile:
		return json.RawMessage(writtenSchema)
	case tools.NameReadFile:
		return json.RawMessage(contentSchema)
	case tools.NameListFiles:
		return json.RawMessage(listingSchema)
	default:
		return json.RawMessage(programSchema)
	}
}
