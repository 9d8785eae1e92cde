/** The script of the demo model, which answers when no model is configured (contract 12). */
import { readFileSync } from 'node:fs'
import { readScenario, type Scenario } from '@cairn/scripted-model'

const FILE = new URL('scenario.yaml', import.meta.url)

export const readDemoScenario = (): Scenario => readScenario(readFileSync(FILE, 'utf8'), 'the demo scenario')
