/** Rules for the manifests that the chart renders: what a pod may do, and that its parts fit together. */
import { Config } from '@cairn/protocol'
import { parse, parseAllDocuments } from 'yaml'

type Labels = Record<string, string>
type Variable = { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string } } }
type Container = {
  name: string
  args?: string[]
  env?: Variable[]
  securityContext?: {
    allowPrivilegeEscalation?: boolean
    readOnlyRootFilesystem?: boolean
    privileged?: boolean
    runAsUser?: number
    capabilities?: { drop?: string[]; add?: string[] }
    seccompProfile?: { type: string }
  }
  resources?: { requests?: Labels; limits?: Labels }
  lifecycle?: { preStop?: { sleep?: { seconds: number } } }
} & Partial<Record<(typeof PROBES)[number], { httpGet?: { path: string } }>>
type Pod = {
  serviceAccountName?: string
  automountServiceAccountToken?: boolean
  enableServiceLinks?: boolean
  hostNetwork?: boolean
  hostPID?: boolean
  hostIPC?: boolean
  terminationGracePeriodSeconds?: number
  securityContext?: {
    runAsNonRoot?: boolean
    runAsUser?: number
    runAsGroup?: number
    seccompProfile?: { type: string }
  }
  containers: Container[]
  initContainers?: Container[]
  topologySpreadConstraints?: unknown[]
  volumes?: ({ name: string; persistentVolumeClaim?: { claimName: string } } & Record<string, unknown>)[]
}
type Selector = { matchLabels?: Labels }
type Spec = {
  replicas?: number
  selector?: Selector & Labels
  podSelector?: Selector
  template?: { metadata: { labels: Labels }; spec: Pod }
  accessModes?: string[]
  scaleTargetRef?: { name: string }
  policyTypes?: string[]
}
export type Manifest = {
  kind: string
  metadata: { name: string; labels?: Labels }
  spec?: Spec
  data?: Labels
  automountServiceAccountToken?: boolean
}

export const readManifests = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map(document => document.toJS() as Manifest | null)
    .filter(manifest => manifest !== null)

const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe'] as const
/** Seconds that a pod has besides the drain: the sleep before the signal, and the end of responses. */
const GRACE_S = 10
/** Of the image. */
const USER = 10_001
const KINDS = [
  'ConfigMap',
  'Deployment',
  'HorizontalPodAutoscaler',
  'Ingress',
  'NetworkPolicy',
  'PersistentVolumeClaim',
  'PodDisruptionBudget',
  'Service',
  'ServiceAccount',
]
const VOLUMES = ['configMap', 'persistentVolumeClaim', 'emptyDir']
const NAMES_A_SECRET = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|DATABASE_URL/

/** Every rule that the manifests break, a sentence each. */
export function policyProblems(manifests: readonly Manifest[]): string[] {
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
  return [
    ...manifests.flatMap(({ kind, metadata }) =>
      KINDS.includes(kind) ? [] : [`${kind} ${metadata.name}: the kind is not allowed`],
    ),
    ...manifests.flatMap(manifest =>
      manifest.kind === 'ServiceAccount' && manifest.automountServiceAccountToken !== false
        ? [`ServiceAccount ${manifest.metadata.name}: it mounts a token`]
        : [],
    ),
    ...deployments.flatMap(deployment => [
      ...podProblems(deployment).map(problem => `Deployment ${deployment.metadata.name}: ${problem}`),
      ...relationProblems(deployment, manifests).map(
        problem => `Deployment ${deployment.metadata.name}: ${problem}`,
      ),
    ]),
    ...targetProblems(manifests, deployments),
  ]
}

/** The messages of the rules that do not hold. */
const broken = (rules: Record<string, boolean>): string[] =>
  Object.entries(rules).flatMap(([message, holds]) => (holds ? [] : [message]))

function podProblems({ spec }: Manifest): string[] {
  const pod = spec?.template?.spec
  if (pod === undefined) return ['it has no pod']
  const { securityContext: user = {} } = pod
  return [
    ...broken({
      'it may run as root': user.runAsNonRoot === true,
      [`it does not run as user and group ${USER}`]: user.runAsUser === USER && user.runAsGroup === USER,
      'it has no seccomp profile': ['RuntimeDefault', 'Localhost'].includes(user.seccompProfile?.type ?? ''),
      'it shares namespaces of the node': !(pod.hostNetwork || pod.hostPID || pod.hostIPC),
      'it mounts a token': pod.automountServiceAccountToken === false,
      'it gets variables of services': pod.enableServiceLinks === false,
      'it is not spread over nodes': (pod.topologySpreadConstraints ?? []).length > 0,
    }),
    ...(pod.volumes ?? []).flatMap(({ name, ...source }) =>
      Object.keys(source).flatMap(type =>
        VOLUMES.includes(type) ? [] : [`volume ${name}: the type ${type} is not allowed`],
      ),
    ),
    ...[...(pod.initContainers ?? []), ...pod.containers].flatMap(container =>
      containerProblems(container).map(problem => `container ${container.name}: ${problem}`),
    ),
  ]
}

function containerProblems(container: Container): string[] {
  const { securityContext: rights = {}, resources = {}, env = [] } = container
  return [
    ...broken({
      'it can gain privileges': rights.allowPrivilegeEscalation === false && rights.privileged !== true,
      'its root file system is writable': rights.readOnlyRootFilesystem === true,
      'it has capabilities': rights.capabilities?.drop?.[0] === 'ALL' && !rights.capabilities.add,
      'it overrides the user of the pod': rights.runAsUser === undefined,
      'it has no seccomp profile': rights.seccompProfile?.type !== 'Unconfined',
      'its memory has no limit': resources.limits?.['memory'] !== undefined,
      'it requests no processor or no memory':
        resources.requests?.['cpu'] !== undefined && resources.requests['memory'] !== undefined,
    }),
    ...PROBES.flatMap(probe => (container[probe]?.httpGet === undefined ? [`it has no ${probe}`] : [])),
    ...env.flatMap(({ name, value }) =>
      NAMES_A_SECRET.test(name) && value !== undefined ? [`${name} is a plain value`] : [],
    ),
  ]
}

const matches = (selector: Labels | undefined, labels: Labels): boolean =>
  selector !== undefined && Object.entries(selector).every(([name, value]) => labels[name] === value)

function relationProblems({ spec }: Manifest, manifests: readonly Manifest[]): string[] {
  const { metadata: { labels } = { labels: {} }, spec: pod } = spec?.template ?? {}
  const isCovered = (kind: string, selectorOf: (spec: Spec) => Labels | undefined): boolean =>
    manifests.some(other => other.kind === kind && matches(selectorOf(other.spec ?? {}), labels))
  const claims = (pod?.volumes ?? []).flatMap(volume => volume.persistentVolumeClaim?.claimName ?? [])
  const own = manifests.filter(
    ({ kind, metadata }) => kind === 'PersistentVolumeClaim' && claims.includes(metadata.name),
  )
  const isShared = own.every(claim => claim.spec?.accessModes?.includes('ReadWriteMany'))
  const [container] = pod?.containers ?? []
  const role = container?.args?.[2]
  return broken({
    'its selector does not match its pods': matches(spec?.selector?.matchLabels, labels),
    'no PodDisruptionBudget covers it': isCovered(
      'PodDisruptionBudget',
      ({ selector }) => selector?.matchLabels,
    ),
    'no NetworkPolicy covers it': isCovered('NetworkPolicy', ({ podSelector }) => podSelector?.matchLabels),
    'no Service or role leads to it': role === 'worker' || isCovered('Service', ({ selector }) => selector),
    'its role is unknown': ['api', 'worker', 'all'].includes(role ?? ''),
    'several pods need volumes of ReadWriteMany': isShared || (spec?.replicas === 1 && role === 'all'),
    'its grace period does not cover the drain':
      pod?.terminationGracePeriodSeconds === drainOf(manifests) + GRACE_S,
    'it gets its signal before proxies know': container?.lifecycle?.preStop?.sleep?.seconds === GRACE_S / 2,
  })
}

/** `limits.drain_s` of the configuration, which must be valid. */
function drainOf(manifests: readonly Manifest[]): number {
  const config = manifests.find(({ kind }) => kind === 'ConfigMap')?.data?.['cairn.yaml'] ?? ''
  return Config.parse(parse(config)).limits.drain_s
}

/** Each autoscaler, budget and policy belongs to a Deployment that exists. */
function targetProblems(manifests: readonly Manifest[], deployments: readonly Manifest[]): string[] {
  const names = deployments.map(({ metadata }) => metadata.name)
  const isSelected = (selector: Labels | undefined): boolean =>
    deployments.some(({ spec }) => matches(selector, spec?.template?.metadata.labels ?? {}))
  return manifests.flatMap(({ kind, metadata: { name }, spec = {} }) => {
    const hasTarget =
      kind === 'HorizontalPodAutoscaler'
        ? names.includes(spec.scaleTargetRef?.name ?? '') &&
          deployments.find(each => each.metadata.name === name)?.spec?.replicas === undefined
        : kind === 'PodDisruptionBudget'
          ? isSelected(spec.selector?.matchLabels)
          : kind === 'NetworkPolicy'
            ? isSelected(spec.podSelector?.matchLabels) && spec.policyTypes?.length === 2
            : kind === 'Service'
              ? isSelected(spec.selector)
              : true
    return hasTarget ? [] : [`${kind} ${name}: it applies to no Deployment`]
  })
}
