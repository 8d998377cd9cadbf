{{- define "pawl.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "pawl.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pawl.labels" -}}
{{ include "pawl.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "pawl.image" -}}
{{- $repository := required "image.repository is required: the image that you have built" .Values.image.repository -}}
{{- $tag := required "image.tag is required: a tag or a digest" .Values.image.tag -}}
{{- if hasPrefix "sha256:" $tag }}{{ printf "%s@%s" $repository $tag }}{{ else }}{{ printf "%s:%s" $repository $tag }}{{ end }}
{{- end }}

{{- define "pawl.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "pawl.name" .) -}}
{{- end }}

{{- /* The group reads the files of Secrets, which belong to root. */}}
{{- define "pawl.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "pawl.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* A volume with one key of a Secret. The mode has no bit that Pawl refuses. */}}
{{- define "pawl.secretVolume" -}}
- name: {{ .volume }}
  secret:
    secretName: {{ .name | quote }}
    defaultMode: 0440
    items:
      {{- range .keys }}
      - key: {{ . | quote }}
        path: {{ . | quote }}
      {{- end }}
{{- end }}

{{- /* Variables that configure the connection to Temporal. */}}
{{- define "pawl.temporalEnv" -}}
- name: TEMPORAL_ADDRESS
  value: {{ required "temporal.address is required, host:port" .Values.temporal.address | quote }}
- name: TEMPORAL_NAMESPACE
  value: {{ .Values.temporal.namespace | quote }}
{{- with .Values.temporal.configSecret }}{{ if .name }}
- name: TEMPORAL_CONFIG_FILE
  value: /etc/pawl/temporal/{{ .key }}
{{- end }}{{ end }}
{{- with .Values.temporal.tls }}{{ if .secretName }}
- name: TEMPORAL_TLS
  value: "true"
{{- if .ca }}
- name: TEMPORAL_TLS_SERVER_CA_CERT_PATH
  value: /etc/pawl/tls/{{ .ca }}
{{- end }}
{{- if .cert }}
- name: TEMPORAL_TLS_CLIENT_CERT_PATH
  value: /etc/pawl/tls/{{ .cert }}
- name: TEMPORAL_TLS_CLIENT_KEY_PATH
  value: /etc/pawl/tls/{{ required "temporal.tls.key is required with temporal.tls.cert" .key }}
{{- end }}
{{- if .serverName }}
- name: TEMPORAL_TLS_SERVER_NAME
  value: {{ .serverName | quote }}
{{- end }}
{{- end }}{{ end }}
{{- end }}

{{- /* The chart's own variables, and those of secrets, cannot be set as text. */}}
{{- define "pawl.checkConfig" -}}
{{- $secret := list "DATABASE_URL" "PAWL_DATABASE_URL" "PAWL_DATABASE_DIRECT_URL" "PAWL_TRIGGER_DATABASE_URL" "OTEL_EXPORTER_OTLP_HEADERS" "OTEL_EXPORTER_OTLP_METRICS_HEADERS" "OTEL_EXPORTER_OTLP_TRACES_HEADERS" "PAWL_KEYRING" "PAWL_CODEC_KEYS" "PAWL_CODEC_TOKEN" "PAWL_NOTIFY_SECRET" "PAWL_OPENFGA_TOKEN" "PAWL_CONNECTION_KEY" "TEMPORAL_API_KEY" "TEMPORAL_TLS_CLIENT_KEY_DATA" -}}
{{- $own := list "PAWL_DATABASE_URL_FILE" "PAWL_AUDIT_KEY" "PAWL_KEYRING_FILE" "PAWL_CODEC_KEYS_FILE" "PAWL_CODEC_PLAIN" "PAWL_NOTIFY_SECRET_FILE" "PAWL_NOTIFY_URL" "PAWL_POLICY" "PAWL_WORKSPACE" "PAWL_HEALTH_LISTEN" -}}
{{- range $name := keys .Values.config }}
{{- if or (has $name $secret) (hasPrefix "TEMPORAL_GRPC_META_" $name) }}{{ fail (printf "config.%s is a secret: no value of the chart holds one. See secretConfig and the values that name Secrets" $name) }}{{ end }}
{{- if eq $name "PAWL_SHELL" }}{{ fail "config.PAWL_SHELL: the sandbox of core__shell cannot run in a pod of the profile restricted; see docs/deploy.md" }}{{ end }}
{{- if has $name $own }}{{ fail (printf "config.%s is set by the chart: use the value for it" $name) }}{{ end }}
{{- end }}
{{- end }}
