/**
 * Instances of tokenizers.wasm (rust/tokenizer.rs). An instance has one tokenizer and its own memory, which
 * grows and is returned as a whole.
 */
import { readFileSync } from 'node:fs'
import { assetBeside } from '@cairn/tooling/beside'

export const WASM_PATH: URL = assetBeside(import.meta, '../tokenizers.wasm')

type Call = (...values: number[]) => number

/** The functions that rust/tokenizer.rs exports. */
export type Exports = Record<
  | 'add_tokens'
  | 'decode'
  | 'describe'
  | 'encode'
  | 'id_of'
  | 'ids_length'
  | 'ids_start'
  | 'load'
  | 'offsets_start'
  | 'reserve'
  | 'split_special_tokens'
  | 'text_length'
  | 'text_start'
  | 'token_of',
  Call
> & { memory: WebAssembly.Memory }

export type Instance = {
  exports: Exports
  /** What the library wrote to standard error: the message of a panic. */
  errors: () => string
}

let compiled: WebAssembly.Module | undefined

/** Errors of WASI: no such descriptor, not implemented. */
const BADF = 8
const NOSYS = 52

export function createInstance(): Instance {
  compiled ??= new WebAssembly.Module(readFileSync(WASM_PATH))
  let messages = ''
  const view = () => new DataView(exports.memory.buffer)
  const bytes = (start: number, length: number) => new Uint8Array(exports.memory.buffer, start, length)
  // The library opens no file, reads no variable of the environment and starts no thread.
  const system: Record<string, Call> = {
    environ_get: () => 0,
    environ_sizes_get: (count, size) => {
      view().setUint32(count!, 0, true)
      view().setUint32(size!, 0, true)
      return 0
    },
    fd_prestat_get: () => BADF,
    fd_write: (_descriptor, buffers, count, written) => {
      let total = 0
      for (let at = buffers!; at < buffers! + count! * 8; at += 8) {
        const length = view().getUint32(at + 4, true)
        messages += Buffer.from(bytes(view().getUint32(at, true), length)).toString()
        total += length
      }
      view().setUint32(written!, total, true)
      return 0
    },
    random_get: (start, length) => {
      for (let at = 0; at < length!; at += 65_536)
        crypto.getRandomValues(bytes(start! + at, Math.min(65_536, length! - at)))
      return 0
    },
    sched_yield: () => 0,
  }
  const imports = WebAssembly.Module.imports(compiled).map(
    ({ name }) => [name, system[name] ?? (() => NOSYS)] as const,
  )
  const exports = new WebAssembly.Instance(compiled, {
    wasi_snapshot_preview1: Object.fromEntries(imports),
  }).exports as Exports
  return { exports, errors: () => messages }
}
