package db

import "reflect"

// Files has the SQL files of this package.
var Files = files

// RowTypes returns the type of the rows of each query of this package.
func RowTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"SchemaIsThere":  reflect.TypeFor[thereRow](),
		"SchemaVersion":  reflect.TypeFor[versionRow](),
		"MissingRoles":   reflect.TypeFor[roleRow](),
		"Origin":         reflect.TypeFor[originRow](),
		"WorkerSessions": reflect.TypeFor[sessionsRow](),
	}
}
