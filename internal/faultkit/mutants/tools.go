package main

// ofTools are the mutants of the guards of built-in tools.
var ofTools = []mutant{
	{
		guard: "tools: the mode auto asks", file: "policy/decide.go",
		edits: []edit{{"m == document.Auto && risk == toolspec.LowRisk", "m == document.Auto && risk != toolspec.HighRisk"}},
		run:   "TestSafety", packages: []string{"./tools"},
	},
	{
		guard: "tools: web, the addresses of a host", file: "internal/web/guard.go",
		edits: []edit{{"if g.safe.SafeAddr(addrs[i]) != nil {", "if false && g.safe.SafeAddr(addrs[i]) != nil {"}},
		run:   "TestAddresses|TestKeptConnections", packages: []string{"./internal/web"},
	},
	{
		guard: "tools: web, the address of the socket", file: "internal/web/guard.go",
		edits: []edit{{"if g.safe.Safe(network, address, c) != nil {", "if false && g.safe.Safe(network, address, c) != nil {"}},
		run:   "TestShippedFetcher", packages: []string{"./internal/web"},
	},
	{
		guard: "tools: shell, the filter of system calls", file: "internal/sandbox/setup.go",
		edits: []edit{{"return installFilter()", "_ = installFilter\n\treturn nil"}},
		run:   "TestEscapes", packages: []string{"./internal/sandbox"},
	},
	{
		guard: "tools: files, pipes and devices", file: "internal/files/read.go",
		edits: []edit{{"case !info.Mode().IsRegular():", "case false:"}},
		run:   "TestSpecialFilesAreRefused", packages: []string{"./internal/files"},
	},
	{
		guard: "tools: memory, the session of an entry", file: "internal/postgres/memories/read.sql",
		edits: []edit{{"WHERE tenant_id = @tenant_id AND session = @session AND path = @path", "WHERE tenant_id = @tenant_id AND path = @path"}},
		run:   "TestIsolation", packages: []string{"./internal/postgres/memories"},
	},
	{
		guard: "tools: memory, one write at a time", file: "internal/postgres/memories/write.sql",
		edits: []edit{{"ON CONFLICT (tenant_id, session) DO UPDATE SET touched_at = now();", "ON CONFLICT (tenant_id, session) DO NOTHING;"}},
		run:   "TestConcurrentWriters", packages: []string{"./internal/postgres/memories"},
	},
}
