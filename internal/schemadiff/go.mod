module github.com/pawl-run/pawl/internal/schemadiff

go 1.26.5

require (
	github.com/kaptinlin/jsonschema v0.9.8
	github.com/pawl-run/pawl v0.0.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2
	pgregory.net/rapid v1.3.0
)

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/kaptinlin/jsonpointer v0.4.28 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/pawl-run/pawl => ../..
