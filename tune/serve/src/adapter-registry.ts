/**
 * Adapters by the names that requests use. One change at a time. A name is free as soon as its unloading
 * starts.
 */
import { InputError, UnsupportedError, readStoredAdapter, type StoredAdapter } from '@cairn-tune/weights'
import { limitsOf, incompatibility, type LoadedAdapter } from './engine/adapters.ts'
import { createAdapterView, type AdapterView } from './adapter-view.ts'
import { ApiError, badRequest, notFound } from './errors.ts'
import type { ServedModel } from './served-model.ts'

/** An adapter, and the model as its requests see it. */
type RegisteredAdapter = { adapter: LoadedAdapter; model: ServedModel }

export type AdapterRegistry = {
  find(name: string): RegisteredAdapter | undefined
  list(): readonly LoadedAdapter[]
  load(name: string, path: string): Promise<void>
  unload(name: string): Promise<void>
  /** Stops the threads of the adapters' tokenizers. */
  close(): Promise<void>
}

const invalid = (message: string) => new ApiError(400, 'InvalidUserInput', message)

export function createAdapterRegistry(model: ServedModel): AdapterRegistry {
  const loaded = new Map<string, LoadedAdapter>()
  const views = new Map<LoadedAdapter, AdapterView>()
  const loading = new Set<string>()

  async function read(name: string, path: string, maxRank: number) {
    try {
      return await readStoredAdapter(
        path,
        model.targets,
        limitsOf(model.targets, maxRank, model.maxChangeBytes),
      )
    } catch (error) {
      if (!(error instanceof InputError || error instanceof UnsupportedError)) throw error
      // All reasons why a file cannot be opened get the same answer, so that clients cannot probe for paths.
      const isUnreadable = (error.cause as NodeJS.ErrnoException | undefined)?.code !== undefined
      throw isUnreadable
        ? notFound(`Loading lora ${name} failed: No adapter found for ${path}: ${error.message}`)
        : badRequest(`Loading lora ${name} failed: ${error.message}`)
    }
  }

  /** Throws a client error if the adapter has numbers that cannot be used. */
  async function place(name: string, path: string, adapter: StoredAdapter): Promise<LoadedAdapter> {
    try {
      const own = await model.ownWeightsOf(adapter)
      const view = await createAdapterView(model, path, own)
      const placed = await model.generator.load(name, path, { stored: adapter, own })
      views.set(placed, view)
      return placed
    } catch (error) {
      throw error instanceof InputError || error instanceof UnsupportedError
        ? badRequest(`Loading lora ${name} failed: ${error.message}`)
        : error
    }
  }

  async function load(name: string, path: string): Promise<void> {
    if (!model.stacks) throw badRequest('LoRA is not enabled; start the server with --enable-lora.')
    if (loaded.has(name) || loading.has(name))
      throw invalid(`The lora adapter '${name}' has already been loaded.`)
    if (model.names.includes(name)) throw invalid(`'${name}' is the name of the base model.`)
    if (loaded.size + loading.size >= model.maxAdapters)
      throw badRequest(
        `Loading lora ${name} failed: ${model.maxAdapters} adapters are in memory ` +
          `(${[...loaded.keys()].join(', ')}), which is the maximum; ` +
          'unload one or raise --max-cpu-loras.',
      )
    loading.add(name)
    try {
      const adapter = await read(name, path, model.stacks.maxRank)
      const reason = incompatibility(adapter, model.targets, model.stacks.maxRank)
      if (reason) throw badRequest(`Loading lora ${name} failed: ${reason}`)
      loaded.set(name, await place(name, path, adapter))
    } finally {
      loading.delete(name)
    }
  }

  return {
    find(name) {
      const adapter = loaded.get(name)
      return adapter && { adapter, model: views.get(adapter)?.model ?? model }
    },
    list: () => [...loaded.values()],
    load,
    async unload(name) {
      const adapter = loaded.get(name)
      if (!adapter) throw notFound(`The lora adapter '${name}' cannot be found.`)
      loaded.delete(name)
      await model.generator.unload(adapter)
      await views.get(adapter)?.close()
      views.delete(adapter)
    },
    close: async () => void (await Promise.all([...views.values()].map(view => view.close()))),
  }
}
