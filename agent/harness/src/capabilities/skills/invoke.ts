/**
 * `/<skill> <arguments>` as the model reads it: the skill's body replaces the message, and its files are in
 * the workspace.
 */
import { type EventDraft, SkillOverride } from '@cairn/protocol'
import type { SlashMessage } from '@cairn/state'
import { type Skill, stageSkill } from './catalogue.ts'
import { skillInvoked } from './events.ts'
import { expandSkill } from './skill-file.ts'

export async function invokeSkill(
  skill: Skill,
  args: string,
  message: SlashMessage,
  workspace: string,
): Promise<EventDraft> {
  const { event_id, content, metadata, attachments } = message
  // The API has validated it; with an invalid value from elsewhere the skill runs without an override.
  const override = SkillOverride.safeParse(metadata?.['skill_override'])
  const staged_at = await stageSkill(skill, workspace)
  const body = expandSkill(override.success ? { ...skill, body: override.data.body } : skill, args, staged_at)
  return skillInvoked({
    skill: skill.name,
    raw_message: content,
    staged_at,
    user_message_id: event_id,
    expanded: attachments?.length
      ? `${body}\n\n[Attached files: ${attachments.map(file => file.path).join(', ')}]`
      : body,
    ...(override.success
      ? {
          override_source: override.data.source,
          skillopt_run_id: override.data.skillopt_run_id,
          candidate_id: override.data.candidate_id,
        }
      : {}),
  })
}
