package db

import "reflect"

// Files are those of the statements of this package.
var Files = files

// RowTypes says what the rows of its queries are read into.
func RowTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"SchemaIsThere":  reflect.TypeFor[thereRow](),
		"SchemaVersion":  reflect.TypeFor[versionRow](),
		"MissingRoles":   reflect.TypeFor[roleRow](),
		"Origin":         reflect.TypeFor[originRow](),
		"WorkerSessions": reflect.TypeFor[sessionsRow](),
	}
}
