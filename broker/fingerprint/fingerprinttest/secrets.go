package fingerprinttest

// Secrets returns made-up secrets in the shapes of public rule sets, by name. Only "bytes" is not
// UTF-8.
func Secrets() map[string]string {
	return map[string]string{
		"eight":           "aB3$xY7!",
		"aws":             "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"github":          "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
		"gitlab":          "glpat-9xT2_kLmQ-4vRz7Wc1Yb",
		"slack":           "xoxb-" + "210987654321-123456789012-Zk3rT9wQ0pLmN5vB7xYcD2eF",
		"slack webhook":   "https://hooks.slack.com/services/" + "T0G9PQBBK/B0H8QLMNO/pR4tV6xZ8bD0fH2jL4nQ6sU8",
		"stripe":          "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dcQm2VxKfA",
		"google":          "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
		"google oauth":    "GOCSPX-" + "k1Lm2No3Pq4Rs5Tu6Vw7Xy8Za9Bc",
		"openai":          "sk-proj-" + "Abc_123-Defghij456klmnop789QrstuvWXYZ0a1b2c3d4e5f6",
		"anthropic":       "sk-ant-api03-" + "r7_Qm-2xV9kLpZ4tW8yB1nC5dF3gH6jS0aE-uI_oP7vX2cM4qT",
		"azure storage":   "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
		"azure string":    "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=pT9+x/3vQ8kZ1mN5rW7yB2dF4gH6jL0s==;EndpointSuffix=core.windows.net",
		"azure client":    "Qk8~8Q.vT3xZ_pL-6mN9rW2yB5dF7gH1jKcS0aE4",
		"jwt":             "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
		"pem":             "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2\nOF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r\n-----END PRIVATE KEY-----\n",
		"connection":      "postgres://svc:p%40ss&word<1>@db.internal:5432/app?sslmode=require",
		"mongo":           "mongodb+srv://root:k9+Xz/=4@cluster0.example.net/?retryWrites=true&w=majority",
		"cookie":          `session="s%3A4f3c.9aX/2+z=="; Path=/`,
		"password":        `Tr0ub4dor &"3\'<>`,
		"random":          "p9+Qz/7=xW&k<2>m'V\"t`8{r}",
		"like an entity":  "x9&lt;Qz=4%2Bk\\u0041&amp;7Rm",
		"like a path":     `C:\new\table\x41\keys\rQ8`,
		"umlaut":          "pässwörter-für-alle",
		"emoji":           "open\U0001F511sesame\U0001F6AA",
		"bytes":           "\x00\x01\xfe\xffK\x80\x81\x82\x83ey",
		"slashes":         "//aa//bb//cc//",
		"hexadecimal":     "9f86d081884c7d659a2feaa0c55ad015",
		"new lines":       "first line\r\nsecond\tline\n",
		"control":         "be\x07ll\x1b[31mred",
		"line separators": "a\u2028b\u2029c-separated",
	}
}
