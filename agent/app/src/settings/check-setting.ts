/** Whether settings may be published, and whether something may be removed. */
import type { EditedKind, SettingPerson } from '@cairn/api'
import type { SettingRow } from '@cairn/log'
import { AppError, type SettingKind } from '@cairn/protocol'
import type { Problem } from '../config/check-patterns.ts'
import { type Edits, parseEdited, problemsOfEdits, readEdits } from '../config/merge-edits.ts'
import { headKey, type OrgConfig } from './org-configs.ts'
import { invalid, type SettingsOptions } from './settings-options.ts'
import { problemsIn } from './views.ts'

/** Throws `invalid_body` with each mistake of the settings. */
export async function check(
  { orgs, reach }: SettingsOptions,
  { org_id }: SettingPerson,
  kind: SettingKind,
  name: string,
  given: unknown,
): Promise<void> {
  const parsed = parseEdited(kind, name, given)
  if ('problems' in parsed) throw invalid(parsed.problems.map(withinBody))
  const org = await orgs.of(org_id)
  const { edits } = withEdit(org, kind, name, given)
  const all = problemsOfEdits(orgs.file, edits, orgs.source)
  const own =
    kind === 'default_model'
      ? all
          .filter(({ path }) => path.join('.') === 'models.default')
          .map(({ message }) => ({ path: 'model', message }))
      : problemsIn(all, kind, name)
  const url = addressOf(parsed.settings)
  const problem = url === null ? null : reach.urlProblem(url.address)
  const errors = [
    // An entry that cairn.yaml overrides is checked when cairn.yaml no longer has it.
    ...own.map(({ path, message }) => ({ path: `settings.${path}`, message })),
    ...(url === null || problem === null ? [] : [{ path: `settings.${url.key}`, message: problem }]),
  ]
  if (errors.length > 0) throw invalid(errors)
}

const withinBody = ({ path, message }: Problem): { path: string; message: string } => ({
  path: path[0] === 'name' ? 'name' : ['settings', ...path].join('.'),
  message,
})

function addressOf(settings: object): { key: string; address: string } | null {
  for (const key of ['base_url', 'url'])
    if (key in settings) return { key, address: String((settings as Record<string, unknown>)[key]) }
  return null
}

/** The edits as they would be with this one. */
function withEdit(org: OrgConfig, kind: SettingKind, name: string, given: unknown): { edits: Edits } {
  const row: SettingRow = {
    ...EMPTY_ROW,
    kind,
    name,
    content: given === undefined ? null : JSON.stringify(given),
  }
  return readEdits([
    ...[...org.heads].filter(([key]) => key !== headKey(kind, name)).map(([, head]) => head),
    row,
  ])
}
const EMPTY_ROW = {
  seq: 0,
  version: 0,
  change: 'publish',
  sealed: null,
  note: null,
  restored_from: null,
  changed_by: '',
  changed_at: 0,
}

export function refuseRemovalInUse(
  { orgs }: SettingsOptions,
  org: OrgConfig,
  kind: EditedKind,
  name: string,
): void {
  const say = ({ path, message }: Problem): string => `${path.join('.')}: ${message}`
  const before = new Set(problemsOfEdits(orgs.file, org.edits, orgs.source).map(say))
  const { edits } = withEdit(org, kind, name, undefined)
  const caused = problemsOfEdits(orgs.file, edits, orgs.source)
    .map(say)
    .filter(problem => !before.has(problem))
  if (caused.length > 0)
    throw new AppError('wrong_state', `${name} is in use. Without it: ${caused.join('; ')}`)
}
