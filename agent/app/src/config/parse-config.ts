/**
 * Parses the text of cairn.yaml into a Config, or lists every mistake with its path, line and, for a key, the
 * nearest known one.
 */
import { Config } from '@cairn/protocol'
import { type Document, LineCounter, isMap, isNode, isScalar, parseDocument } from 'yaml'
import { z } from 'zod'
import { ConfigError } from './config-error.ts'
import { nearest } from '@cairn/tooling/cli/nearest'

export type ConfigSource = {
  /** `line 7: ` for a path of the file; empty if it has no line. */
  lineOf(path: readonly PropertyKey[]): string
  /** Whether the file has a value at the path. */
  isGiven(path: readonly PropertyKey[]): boolean
}

/** The source of a configuration that comes from no file. */
export const NO_SOURCE: ConfigSource = { lineOf: () => '', isGiven: () => false }

export const parseConfig = (text: string, file: string): Config => parseConfigFile(text, file).config

export function parseConfigFile(text: string, file: string): { config: Config; source: ConfigSource } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  if (document.errors.length > 0) {
    throw new ConfigError(
      file,
      document.errors.map(
        error => `line ${lines.linePos(error.pos[0]).line}: invalid YAML: ${error.message}`,
      ),
    )
  }
  const value: unknown = document.toJS() ?? {}
  const parsed = Config.safeParse(value)
  const lineOf = (path: readonly PropertyKey[], key?: string): string => {
    const line = findLine(document, path, key, lines)
    return line === undefined ? '' : `line ${line}: `
  }
  if (parsed.success)
    return { config: parsed.data, source: { lineOf, isGiven: path => document.hasIn([...path]) } }
  const issues = parsed.error.issues.flatMap(issue => narrow(issue))
  throw new ConfigError(
    file,
    issues.flatMap(issue => {
      if (issue.code === 'invalid_key')
        return issue.issues.map(
          ({ message }) =>
            `${lineOf(issue.path.slice(0, -1), String(issue.path.at(-1)))}${issue.path.join('.')}: ` +
            `the name ${message}`,
        )
      if (issue.code !== 'unrecognized_keys')
        return [`${lineOf(issue.path)}${issue.path.join('.') || 'the file'}: ${sentence(issue, value)}`]
      const known = knownKeys(issue.path, value)
      return issue.keys.map(key => {
        const meant = nearest(key, known)
        const hint = meant === undefined ? `known keys: ${known.join(', ')}` : `did you mean "${meant}"?`
        return `${lineOf(issue.path, key)}unknown key "${[...issue.path, key].join('.')}" (${hint})`
      })
    }),
  )
}

type Issue = z.core.$ZodIssue

/** For a union, the mistakes of the best-fitting alternative; inner paths are relative to the union. */
function narrow(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const weigh = (issues: readonly Issue[]): number =>
    issues.reduce(
      (sum, { path, ...rest }) =>
        sum +
        ('keys' in rest ? rest.keys.length : 1) +
        (path.length === 0 && rest.code === 'invalid_type' ? 10 : 0),
      0,
    )
  const best = issue.errors.toSorted((a, b) => weigh(a) - weigh(b))[0] ?? []
  return best.flatMap(inner => narrow({ ...inner, path: [...issue.path, ...inner.path] }))
}

function sentence(issue: Issue, root: unknown): string {
  const got = issue.path.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown> | null | undefined)?.[key],
    root,
  )
  const shown = got === undefined ? 'nothing' : got === null ? 'nothing' : JSON.stringify(got)
  return (
    `${issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '')}, got ` +
    `${shown.length > 60 ? `${shown.slice(0, 57)}...` : shown}`
  )
}

/** The line of the value at a path, or of a key in the map there. */
function findLine(
  document: Document.Parsed,
  path: readonly PropertyKey[],
  key: string | undefined,
  lines: LineCounter,
): number | undefined {
  const node = path.length === 0 ? document.contents : document.getIn(path, true)
  if (key !== undefined && isMap(node)) {
    const found = node.items.find(pair => isScalar(pair.key) && String(pair.key.value) === key)?.key
    if (isScalar(found) && found.range) return lines.linePos(found.range[0]).line
  }
  if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  return path.length === 0 ? undefined : findLine(document, path.slice(0, -1), undefined, lines)
}

type Json = {
  properties?: Record<string, Json>
  additionalProperties?: Json | boolean
  items?: Json
  oneOf?: Json[]
  anyOf?: Json[]
  const?: unknown
}

const schema = z.toJSONSchema(Config, { io: 'input' }) as Json

/** The keys that the configuration schema allows at a path, for the hint about an unknown key. */
function knownKeys(path: readonly PropertyKey[], root: unknown): string[] {
  let nodes: Json[] = [schema]
  let value = root
  for (const key of path) {
    nodes = choose(nodes, value).flatMap(node => {
      const next = node.properties?.[String(key)] ?? node.items ?? node.additionalProperties
      return typeof next === 'object' ? [next] : []
    })
    value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key]
  }
  return [...new Set(choose(nodes, value).flatMap(node => Object.keys(node.properties ?? {})))]
}

/** The alternative that the value declares (`kind: openai`); all of them if it declares none. */
function choose(nodes: readonly Json[], value: unknown): Json[] {
  const flat = nodes.flatMap(node => node.oneOf ?? node.anyOf ?? [node])
  const declared = flat.filter(node =>
    Object.entries(node.properties ?? {}).some(
      ([key, property]) =>
        property.const !== undefined && property.const === (value as Record<string, unknown> | null)?.[key],
    ),
  )
  return declared.length > 0 ? declared : flat
}
