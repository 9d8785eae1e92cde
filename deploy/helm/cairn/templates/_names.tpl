{{- define "cairn.fullname" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{/* Labels that select the pods of a component, and never change. */}}
{{- define "cairn.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "cairn.labels" -}}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{ include "cairn.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "cairn.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* The name of the claim for data or workspaces. */}}
{{- define "cairn.claim" -}}
{{- $values := index .root.Values.persistence .of -}}
{{- $values.existingClaim | default (printf "%s-%s" (include "cairn.fullname" .root) .of) -}}
{{- end }}
