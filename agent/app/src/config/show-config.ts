/**
 * Prints the effective configuration: secrets masked, long texts shortened, variables marked as set or not.
 */
import type { Config } from '@cairn/protocol'
import { Document, isScalar, visit } from 'yaml'

const MASK = '***'
const SECRET_FLAG = /(token|key|secret|password|credential)[^=\s]*=/i

export function maskConfig(config: Config): Config {
  const { providers } = config.models
  return {
    ...config,
    models: {
      ...config.models,
      providers: Object.fromEntries(
        Object.entries(providers).map(([name, provider]) => [name, maskProvider(provider)]),
      ),
    },
    mcp_servers: Object.fromEntries(
      Object.entries(config.mcp_servers).map(([name, server]) => [
        name,
        'url' in server
          ? { ...server, url: maskUrl(server.url) }
          : {
              ...server,
              args: server.args.map(arg => (SECRET_FLAG.test(arg) ? arg.replace(/=.*$/s, `=${MASK}`) : arg)),
            },
      ]),
    ),
  }
}

/** Compact YAML: empty values are omitted, and maps and lists of scalars take one line. */
export function showConfig(config: Config): string {
  const document = new Document(
    JSON.parse(
      JSON.stringify(maskConfig(config), (_, value: unknown) => (isEmpty(value) ? undefined : value)),
    ),
  )
  visit(document, {
    Map: (_, node) => {
      node.flow = node.items.every(({ value }) => isScalar(value))
    },
    Seq: (_, node) => {
      node.flow = true
    },
  })
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every(inner => isEmpty(inner))

function maskProvider(
  provider: Config['models']['providers'][string],
): Config['models']['providers'][string] {
  if (provider.kind === 'scripted') return provider
  const base_url = maskUrl(provider.base_url)
  // Any header may hold a secret, so all are masked.
  return provider.kind === 'openai'
    ? {
        ...provider,
        base_url,
        headers: Object.fromEntries(Object.keys(provider.headers).map(name => [name, MASK])),
      }
    : { ...provider, base_url }
}

/** Masks credentials in a URL, before the host or in the query. */
export function maskUrl(text: string): string {
  const url = new URL(text)
  if (url.username === '' && url.password === '' && url.search === '') return text
  if (url.username !== '') url.username = MASK
  if (url.password !== '') url.password = MASK
  for (const key of url.searchParams.keys()) url.searchParams.set(key, MASK)
  return url.href
}
