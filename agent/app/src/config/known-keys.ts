/** The keys that the configuration schema allows at a path, for the hint about an unknown key. */
import { Config } from '@cairn/protocol'
import { z } from 'zod'

type Json = {
  properties?: Record<string, Json>
  additionalProperties?: Json | boolean
  items?: Json
  oneOf?: Json[]
  anyOf?: Json[]
  const?: unknown
}

const schema = z.toJSONSchema(Config, { io: 'input' }) as Json

export function knownKeys(path: readonly PropertyKey[], root: unknown): string[] {
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
