/** load_skill: returns the instructions of a skill that the model considers suitable. */
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool } from '../../tools/tool.ts'
import { type SkillCatalogue, stageSkill } from './catalogue.ts'

export const LOAD_SKILL = 'load_skill'

const Parameters = z.strictObject({ name: z.string().describe('name of one of the listed skills') })

export const loadSkillTool = ({ skills }: SkillCatalogue): Tool =>
  defineTool({
    name: LOAD_SKILL,
    description:
      'Read the instructions of a skill. Its supporting files are copied into the workspace, at the path ' +
      'in the result.',
    parameters: Parameters,
    // Staging writes files, always the same ones: never two at a time, but safe to repeat.
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    async run({ name }, { workspace }) {
      const skill = skills.get(name)
      if (!skill)
        throw new Error(`unknown skill ${JSON.stringify(name)}; available: ${[...skills.keys()].join(', ')}`)
      return {
        content: {
          name,
          instructions: skill.body,
          files: [...skill.files],
          staged_at: await stageSkill(skill, workspace),
        },
      }
    },
  })
