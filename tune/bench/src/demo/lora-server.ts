/** Loads an adapter on a running server, uses it, and unloads it in any case (the spec's two endpoints). */
import type { Dtype } from '@cairn-tune/ops'
import { InputError } from '@cairn-tune/weights'

/** A server of the completions API. */
export type RunningServer = { url: string; close: () => Promise<void> }
/** `storage` is the dtype in which the server stores the projections of the base. */
export type StartServer = (options: {
  model: string
  storage: Dtype
  threads?: number | undefined
}) => Promise<RunningServer>

export async function withAdapter<T>(
  url: string,
  name: string,
  path: string,
  use: () => Promise<T>,
): Promise<T> {
  await post(url, 'load_lora_adapter', { lora_name: name, lora_path: path })
  try {
    return await use()
  } finally {
    await post(url, 'unload_lora_adapter', { lora_name: name })
  }
}

async function post(url: string, route: string, body: Record<string, string>): Promise<void> {
  const response = await fetch(new URL(`/v1/${route}`, url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (response.ok) return
  const hint =
    response.status === 404 && route === 'load_lora_adapter'
      ? ' (is VLLM_ALLOW_RUNTIME_LORA_UPDATING=True set where the server runs?)'
      : ''
  throw new InputError(`POST ${url}/v1/${route} ${JSON.stringify(body)}: ${response.status} ${text}${hint}`)
}
