{{/*
The Deployment of a component: `root`, `component` (api or worker), `role` of its processes (api, worker or all),
`values`, and `isScaled` if an autoscaler sets the number of replicas.
*/}}
{{- define "cairn.deployment" -}}
{{- $name := printf "%s-%s" (include "cairn.fullname" .root) .component -}}
{{- $isShared := eq .root.Values.persistence.accessMode "ReadWriteMany" -}}
{{- $isSandboxed := and .root.Values.sandbox.enabled (ne .role "api") -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "cairn.labels" . | nindent 4 }}
spec:
  {{- if not .isScaled }}
  replicas: {{ .values.replicaCount }}
  {{- end }}
  revisionHistoryLimit: 5
  strategy:
    {{- if $isShared }}
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
    {{- else }}
    # The next pod can mount the volumes only after this one has ended.
    type: Recreate
    {{- end }}
  selector:
    matchLabels:
      {{- include "cairn.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "cairn.labels" . | nindent 8 }}
      annotations:
        checksum/config: {{ toYaml .root.Values.config | sha256sum }}
        {{- with .root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "cairn.fullname" .root }}
      automountServiceAccountToken: false
      # They would set variables such as CAIRN_PORT.
      enableServiceLinks: false
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      # The sleep before the signal, the drain, and the end of responses in progress.
      terminationGracePeriodSeconds: {{ add (dig "limits" "drain_s" 20 .root.Values.config | int) 10 }}
      {{- if $isSandboxed }}
      hostUsers: false
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile:
          type: RuntimeDefault
      {{- with .root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "cairn.selector" $ | nindent 14 }}
          matchLabelKeys: [pod-template-hash]
        {{- end }}
      containers:
        - name: cairn
          image: {{ include "cairn.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [serve, --role, {{ .role }}]
          ports:
            - name: http
              containerPort: 8787
          env:
            - name: CAIRN_CONFIG
              value: /etc/cairn/cairn.yaml
            # Below the root of the volume: the service keeps its directory private, and the root belongs to the
            # node.
            - name: CAIRN_DATA
              value: /data/cairn
            - name: CAIRN_WORKSPACES
              value: /workspaces/cairn
            {{- range $variable, $value := .root.Values.env }}
            - name: {{ $variable }}
              value: {{ $value | quote }}
            {{- end }}
            - name: DATABASE_URL
              valueFrom:
                secretKeyRef:
                  name: {{ .root.Values.database.secret }}
                  key: {{ .root.Values.database.key }}
          {{- with .root.Values.secrets }}
          envFrom:
            {{- range . }}
            - secretRef:
                name: {{ . }}
            {{- end }}
          {{- end }}
          # A start may migrate the database before it listens.
          startupProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 2
            timeoutSeconds: 3
            failureThreshold: 300
          livenessProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: http}
            periodSeconds: 5
            timeoutSeconds: 4
            failureThreshold: 2
          lifecycle:
            preStop:
              # Until every proxy knows that this pod gets no more requests.
              sleep: {seconds: 5}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
            {{- if $isSandboxed }}
            procMount: Unmasked
            appArmorProfile:
              type: Unconfined
            seccompProfile:
              type: Localhost
              localhostProfile: {{ .root.Values.sandbox.seccompProfile | quote }}
            {{- end }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - name: config
              mountPath: /etc/cairn
              readOnly: true
            - name: data
              mountPath: /data
            - name: workspaces
              mountPath: /workspaces
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: config
          configMap:
            name: {{ include "cairn.fullname" .root }}
        {{- range list "data" "workspaces" }}
        - name: {{ . }}
          persistentVolumeClaim:
            claimName: {{ include "cairn.claim" (dict "root" $.root "of" .) }}
        {{- end }}
        - name: tmp
          emptyDir:
            sizeLimit: {{ .root.Values.persistence.tmp }}
{{- end }}

{{/* At most one pod of a component is evicted at a time. */}}
{{- define "cairn.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "cairn.fullname" .root }}-{{ .component }}
  labels:
    {{- include "cairn.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "cairn.selector" . | nindent 6 }}
{{- end }}
