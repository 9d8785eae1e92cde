import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Config } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { CHART, listValues, readGolden, valuesFile } from './chart.ts'
import { type Manifest, policyProblems, readManifests } from './manifest-policy.ts'

type Values = Record<string, unknown>
const readYaml = (path: string): Values => parse(readFileSync(path, 'utf8')) as Values
const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges as Helm does: maps by key, everything else replaced. */
function merge(defaults: Values, given: Values): Values {
  const merged = { ...defaults }
  for (const [key, value] of Object.entries(given)) {
    const before = merged[key]
    merged[key] = isMap(before) && isMap(value) ? merge(before, value) : value
  }
  return merged
}

const defaults = readYaml(join(CHART, 'values.yaml'))
const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as object
const validate = new Ajv2020({ allErrors: true, strict: false }).compile(schema)
/** Paths of the values that the schema rejects. */
function rejected(given: Values): string[] {
  validate(merge(defaults, given))
  return [...new Set((validate.errors ?? []).map(error => error.instancePath))].filter(path => path !== '')
}

test.each(listValues())('the manifests of %s follow the policy', name => {
  const manifests = readManifests(readGolden(name))
  expect(manifests.length).toBeGreaterThan(7)
  expect(policyProblems(manifests)).toEqual([])
})

test.each(listValues())('the schema accepts the values of %s', name => {
  expect(rejected(readYaml(valuesFile(name)) ?? {})).toEqual([])
})

test('the chart and cairn.yaml have the same default for the drain', () => {
  const template = readFileSync(join(CHART, 'templates/_deployment.tpl'), 'utf8')
  expect(template).toContain(`dig "limits" "drain_s" ${Config.parse({}).limits.drain_s} `)
})

test.each<[string, Values, string]>([
  ['an unknown key', { replicas: 3 }, ''],
  ['an unknown key of a part', { api: { replicaCount: 1, replica: 3 } }, '/api'],
  ['several pods on a volume of one', { persistence: { accessMode: 'ReadWriteOnce' } }, '/api/replicaCount'],
  [
    'a worker on a volume of one pod',
    { persistence: { accessMode: 'ReadWriteOnce' }, api: { replicaCount: 1 } },
    '/worker/enabled',
  ],
  [
    'an autoscaler without workers',
    { autoscaling: { enabled: true }, worker: { enabled: false } },
    '/worker',
  ],
  ['a secret as a value', { env: { OPENAI_API_KEY: 'sk-1' } }, '/env'],
  ['a database as a value', { env: { DATABASE_URL: 'postgres://a:b@c/d' } }, '/env'],
  ['a container without a limit', { worker: { resources: { limits: null } } }, '/worker/resources/limits'],
  ['a sandbox without a profile', { sandbox: { enabled: true } }, '/sandbox/seccompProfile'],
  ['an ingress without a host', { ingress: { enabled: true } }, '/ingress/host'],
  ['a drain that is no number', { config: { limits: { drain_s: '20s' } } }, '/config/limits/drain_s'],
])('the schema rejects %s', (_, values, path) => {
  validate(merge(defaults, values))
  expect((validate.errors ?? []).map(error => error.instancePath)).toContainEqual(
    expect.stringMatching(path === '' ? /^$/ : new RegExp(`^${path}`)),
  )
})

/** The manifests of the default values, changed. */
function changed(change: (find: (kind: string, name?: string) => Manifest) => void): string[] {
  const manifests = readManifests(readGolden('default'))
  change((kind, name) => {
    const found = manifests.find(
      each => each.kind === kind && (name ?? each.metadata.name) === each.metadata.name,
    )
    if (found === undefined) throw new Error(`there is no ${kind} ${name ?? ''}`)
    return found
  })
  return policyProblems(manifests)
}
type Find = (kind: string, name?: string) => Manifest
const podOf = (find: Find) => find('Deployment', 'cairn-api').spec!.template!.spec
const containerOf = (find: Find) => podOf(find).containers[0]!

test.each<[string, (find: Find) => void]>([
  ['it may run as root', find => void (podOf(find).securityContext!.runAsNonRoot = false)],
  ['it shares namespaces of the node', find => void (podOf(find).hostNetwork = true)],
  ['it mounts a token', find => void delete podOf(find).automountServiceAccountToken],
  [
    'volume host: the type hostPath is not allowed',
    find => void podOf(find).volumes!.push({ name: 'host', hostPath: { path: '/' } }),
  ],
  ['its root file system is writable', find => void delete containerOf(find).securityContext],
  ['its memory has no limit', find => void delete containerOf(find).resources!.limits],
  ['it has no readinessProbe', find => void delete containerOf(find).readinessProbe],
  [
    'OPENAI_API_KEY is a plain value',
    find => void containerOf(find).env!.push({ name: 'OPENAI_API_KEY', value: 'sk-1' }),
  ],
  [
    'Secret keys: the kind is not allowed',
    find => void Object.assign(find('Service'), { kind: 'Secret', metadata: { name: 'keys' } }),
  ],
  [
    'several pods need volumes of ReadWriteMany',
    find => void (find('PersistentVolumeClaim').spec!.accessModes = ['ReadWriteOnce']),
  ],
  [
    'its grace period does not cover the drain',
    find => void (find('ConfigMap').data = { 'cairn.yaml': 'limits: {drain_s: 60}' }),
  ],
  [
    'no NetworkPolicy covers it',
    find => void (find('NetworkPolicy', 'cairn-api').spec!.podSelector!.matchLabels = { app: 'other' }),
  ],
  [
    'PodDisruptionBudget cairn-worker: it applies to no Deployment',
    find => void (find('PodDisruptionBudget', 'cairn-worker').spec!.selector!.matchLabels = { app: 'other' }),
  ],
])('the policy reports: %s', (problem, change) => {
  expect(changed(change).join('\n')).toContain(problem)
})
