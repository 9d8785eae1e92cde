/** Resolves a model's or data set's name to a directory on this machine. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openCheckpoint } from './open-checkpoint.ts'
import { InputError } from './errors.ts'
import { isGgufPath } from './gguf/gguf-file.ts'
import { HubUnreachable, listRevision, statRemote, type Hub } from './hub-api.ts'
import {
  findSnapshot,
  hubToken,
  isDirectory,
  isFile,
  linkBlob,
  listSnapshot,
  repoFolder,
  writeRef,
  type Environment,
  type Repo,
  type RepoType,
} from './hub-cache.ts'
import { downloadBlob, withRetry, type Progress, type Retry } from './hub-download.ts'

export type ResolveOptions = {
  env: Environment
  revision?: string
  onProgress?: Progress
  signal?: AbortSignal
  fetch?: typeof fetch
  retry?: Retry
}

const RETRY: Retry = { attempts: 6, wait: attempt => sleep(Math.min(1000 * 2 ** (attempt - 1), 15_000)) }
const REPO_ID = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/

const JSON_FILES = [
  'config',
  'generation_config',
  'hf_quant_config',
  'tokenizer',
  'tokenizer_config',
  'special_tokens_map',
  'added_tokens',
  'model\\.safetensors\\.index',
]

/** Files of a repository to download. Weights in other formats are skipped. */
const WANTED: Record<RepoType, RegExp> = {
  model: new RegExp(
    `^(?:(?:${JSON_FILES.join('|')})\\.json|model[^/]*\\.safetensors|chat_template\\.(?:jinja|json))$`,
  ),
  dataset: /(?:\.(?:jsonl|ndjson|json|csv|tsv|txt)(?:\.gz|\.zst)?|\.parquet|\.arrow|^README\.md)$/,
}

/**
 * The directory of a model or data set: a local one, one in the hub cache, or one downloaded into it. For a
 * model also the path of a GGUF file.
 */
export async function resolveRepo(type: RepoType, name: string, options: ResolveOptions): Promise<string> {
  if (await isDirectory(name)) return name
  if (type === 'model' && isGgufPath(name)) {
    if (await isFile(name)) return name
    throw new InputError(`model ${JSON.stringify(name)}: no such file`)
  }
  if (!REPO_ID.test(name))
    throw new InputError(
      `${type} ${JSON.stringify(name)}: not a directory, and not a name on the hub (organisation/name)`,
    )
  const repo: Repo = { type, id: name }
  const revision = options.revision ?? 'main'
  if (!/^[\w-][\w./-]*$/.test(revision) || revision.includes('..'))
    throw new InputError(`revision ${JSON.stringify(revision)}: must be a branch, a tag or a commit`)
  const folder = repoFolder(options.env, repo)
  const cached = await findSnapshot(folder, revision)
  if (cached !== undefined && (await isWhole(type, cached))) return cached
  const lookedAt = `not complete in the hub cache (${cached ?? join(folder, 'snapshots')})`
  if (isSet(options.env['HF_HUB_OFFLINE']))
    throw new InputError(`${type} ${name}: ${lookedAt}, and HF_HUB_OFFLINE forbids downloading it`)
  try {
    return await download(await hubOf(options), repo, revision, folder, options)
  } catch (error) {
    if (!(error instanceof HubUnreachable)) throw error
    throw new InputError(
      `${type} ${name}: ${lookedAt}, and the download failed: ${error.message}. ` +
        'Give a local directory, or download it on a machine with network access.',
      { cause: error },
    )
  }
}

const isSet = (value: string | undefined) =>
  value !== undefined && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase())

async function hubOf({ env, fetch: ask, signal }: ResolveOptions): Promise<Hub> {
  const endpoint = (env['HF_ENDPOINT'] ?? '').replace(/\/+$/, '')
  return {
    endpoint: endpoint === '' ? 'https://huggingface.co' : endpoint,
    token: await hubToken(env),
    fetch: ask ?? fetch,
    signal,
  }
}

/** Whether a file of a data set holds rows. The card, and JSON files that describe the data, do not. */
const isDataFile = (name: string) =>
  WANTED.dataset.test(name) && !/(?:^|\/)(?:README\.md|dataset_infos?\.json)$/.test(name)

/** A snapshot may be a partial download, by us or by another program. */
async function isWhole(type: RepoType, snapshot: string): Promise<boolean> {
  if (type === 'dataset') return (await listSnapshot(snapshot)).some(isDataFile)
  const has = (name: string) => isFile(join(snapshot, name))
  if (!(await has('config.json'))) return false
  try {
    const model = await openCheckpoint(snapshot)
    await model.close()
    return true
  } catch (error) {
    if (error instanceof InputError) return false
    throw error
  }
}

async function download(
  hub: Hub,
  repo: Repo,
  revision: string,
  folder: string,
  options: ResolveOptions,
): Promise<string> {
  const { commit, names } = await listRevision(hub, repo, revision)
  const wanted = names.filter(name => WANTED[repo.type].test(name))
  if (repo.type === 'dataset' ? !wanted.some(isDataFile) : wanted.length === 0)
    throw new InputError(
      `${hub.endpoint}: ${repo.type} ${repo.id} has no supported file (it has ` +
        `${names.slice(0, 20).join(', ')})`,
    )
  const snapshot = join(folder, 'snapshots', commit)
  const retry = options.retry ?? RETRY
  for (const name of wanted) {
    const file = await withRetry(retry, () => statRemote(hub, repo, commit, name))
    const blob = await downloadBlob(hub, folder, file, retry, options.onProgress ?? (() => undefined))
    await linkBlob(snapshot, name, blob)
  }
  await writeRef(folder, revision, commit)
  return snapshot
}
