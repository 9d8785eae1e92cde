/** The list of models that a model server offers. */
import type { Upstream } from '@cairn/models'
import { z } from 'zod'

const PROBE_MS = 5_000
/** Maximum size of a list of models; the largest gateways send about one MiB. */
const MAX_LIST_BYTES = 16 * 2 ** 20

const Named = z.looseObject({ id: z.string().optional(), name: z.string().optional() })
const ModelList = z.union([
  z.looseObject({ data: z.array(Named) }).transform(({ data }) => data),
  z.looseObject({ models: z.array(Named) }).transform(({ models }) => models),
  z.array(Named),
])

/** Null: the server gave no list. */
export const listModels = async (upstream: Upstream): Promise<string[] | null> =>
  (await askForModels(upstream)).models

/** Rejects if the server does not answer. */
export async function askForModels(
  { kind, base_url, key, headers }: Upstream,
  reach: typeof fetch = fetch,
): Promise<{ status: number; models: string[] | null }> {
  const url = kind === 'anthropic' ? `${base_url}/v1/models?limit=1000` : `${base_url}/models`
  const auth =
    key === undefined ? {} : kind === 'anthropic' ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }
  const response = await reach(url, {
    headers: { ...auth, ...(kind === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {}), ...headers },
    signal: AbortSignal.timeout(PROBE_MS),
  })
  if (!response.ok || Number(response.headers.get('content-length') ?? 0) > MAX_LIST_BYTES) {
    await response.body?.cancel()
    return { status: response.status, models: null }
  }
  const { status } = response
  try {
    const names = ModelList.parse(await response.json()).flatMap(({ id, name }) => id ?? name ?? [])
    return { status, models: names.length > 0 ? names : null }
  } catch {
    // Not every server has such a list, and a web page is reported by the first call.
    return { status, models: null }
  }
}
