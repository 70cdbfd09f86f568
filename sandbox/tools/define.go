package tools

import "encoding/json"

// Definition is a tool as a model is told about it.
type Definition struct {
	// Name is the tool's name.
	Name Name `json:"name"`
	// Title is its name for people.
	Title string `json:"title"`
	// Description says what it does, for a model.
	Description string `json:"description"`
	// Schema is the JSON schema of its arguments. What it does not list is refused.
	Schema json.RawMessage `json:"input_schema"`
	// ReadOnly says that it changes nothing.
	ReadOnly bool `json:"read_only"`
	// Destructive says that it can change or remove what is there.
	Destructive bool `json:"destructive"`
	// OpenWorld says that it reaches beyond the workspace.
	OpenWorld bool `json:"open_world"`
}

// Definitions returns every tool, in a fixed order.
func Definitions() []Definition {
	return append(programDefinitions(), fileDefinitions()...)
}

func programDefinitions() []Definition {
	return []Definition{
		{
			Name: NameRunCode, Title: "Run Code (Sandbox)", Destructive: false,
			Description: "Run a snippet of Python, JavaScript (Node) or Bash in a disposable, isolated sandbox without a network and get its exit code, stdout and stderr. " +
				"Nothing is kept between calls. Files that the code writes to its working directory (OUTPUT_DIR) come back with the result.",
			Schema: schema([]property{
				{"language", "string", "python, node or bash (also py, python3, js, javascript, sh, shell)", true},
				{"code", "string", "The program.", true},
				{"timeout_seconds", "number", "Wall-clock limit in seconds: 30 if left out, at most 300.", false},
				{"network", "boolean", "Ask for a network. Only the operator can grant one; otherwise the call is refused.", false},
				{"stdin", "string", "The program's standard input; empty if left out.", false},
				isolationProperty(),
			}),
		},
		{
			Name: NameShellExec, Title: "Run a Shell Command", Destructive: true,
			Description: "Run a command line with /bin/sh in a sandbox. The workspace is at /workspace and is the working directory; there is no network. A non-zero exit code is a result, no error.",
			Schema: schema([]property{
				{"command", "string", "The command line.", true},
				{"working_dir", "string", "The directory to run in: /workspace/NAME, or NAME. /workspace if left out.", false},
				{"timeout", "number", "Wall-clock limit in seconds: 60 if left out, at most 600.", false},
				isolationProperty(),
			}),
		},
		{
			Name: NameRunScript, Title: "Run a Script", Destructive: true,
			Description: "Run a script that is in the workspace (.py, .js, .rb; everything else with bash) in a sandbox, in the script's directory, for at most five minutes.",
			Schema: schema([]property{
				{"path", "string", "The script: /workspace/NAME, which is what to give write_file, too.", true},
				{"args", "array", "Its arguments.", false},
				isolationProperty(),
			}),
		},
		{
			Name: NamePythonEval, Title: "Run Python", Destructive: true,
			Description: "Run Python code in a sandbox with the workspace at /workspace, for at most 30 seconds. Print what you want to see.",
			Schema:      schema([]property{{"code", "string", "The program.", true}, isolationProperty()}),
		},
		{
			Name: NameInstallLibrary, Title: "Install a Library", Destructive: true, OpenWorld: true,
			Description: "Install a package with pip or npm into a directory of the workspace. It needs a network, which only the operator can grant.",
			Schema: schema([]property{
				{"manager", "string", "pip or npm", true},
				{"package", "string", "The package's name.", true},
				{"version", "string", "The version; the newest if left out.", false},
				{"target", "string", "The directory below /workspace to install into. If left out, the package is for this call only.", false},
				isolationProperty(),
			}),
		},
	}
}

func fileDefinitions() []Definition {
	const where = "The file: /workspace/NAME, where programs find it. A relative path is below the first directory of the file tools, which may be another."
	return []Definition{
		{
			Name: NameWriteFile, Title: "Write a File", Destructive: true,
			Description: "Write a text file below the workspace. An existing file is replaced; directories are made.",
			Schema:      schema([]property{{"path", "string", where, true}, {"content", "string", "The whole content.", true}, isolationProperty()}),
		},
		{
			Name: NameReadFile, Title: "Read a File", ReadOnly: true,
			Description: "Read a file below the workspace, or a part of it.",
			Schema: schema([]property{
				{"path", "string", where, true},
				{"offset", "integer", "The byte to begin at.", false},
				{"limit", "integer", "How many bytes at most; 262144 if left out, at most 1048576.", false},
				isolationProperty(),
			}),
		},
		{
			Name: NameListFiles, Title: "List Files", ReadOnly: true,
			Description: "List a directory of the workspace.",
			Schema: schema([]property{
				{"path", "string", "The directory: /workspace, or one below it. If left out, the first directory of the file tools.", false},
				{"recursive", "boolean", "Also list what is below.", false},
				isolationProperty(),
			}),
		},
		{
			Name: NameDownloadFile, Title: "Download a File", Destructive: true, OpenWorld: true,
			Description: "Download a file from a public http or https address into the workspace.",
			Schema:      schema([]property{{"url", "string", "The address.", true}, {"path", "string", where, true}, isolationProperty()}),
		},
	}
}

// property is one argument in a schema.
type property struct {
	name, kind, description string
	required                bool
}

func isolationProperty() property {
	return property{"isolation", "string", `"sandbox" insists on a sandbox: the call is refused where there is none, and always by a tool that runs no program.`, false}
}

type propertySchema struct {
	Type        string          `json:"type"`
	Description string          `json:"description"`
	Items       *propertySchema `json:"items,omitempty"`
}

// schema returns the JSON schema of an object with these properties and no other.
func schema(ps []property) json.RawMessage {
	s := struct {
		Type       string                    `json:"type"`
		Properties map[string]propertySchema `json:"properties"`
		Required   []string                  `json:"required"`
		Additional bool                      `json:"additionalProperties"`
	}{Type: "object", Properties: map[string]propertySchema{}, Required: []string{}}
	for _, p := range ps {
		v := propertySchema{Type: p.kind, Description: p.description}
		if p.kind == "array" {
			v.Items = &propertySchema{Type: "string", Description: "One argument."}
		}
		s.Properties[p.name] = v
		if p.required {
			s.Required = append(s.Required, p.name)
		}
	}
	b, err := json.Marshal(s)
	if err != nil { // a struct of strings and maps of them always has a form
		return json.RawMessage(`{"type":"object"}`)
	}
	return b
}
