/** The script of the demo model, which answers when no model is configured (contract 12). */
import { readFileSync } from 'node:fs'
import { readScenario, type Scenario } from '@cairn/scripted-model'
import { assetBeside } from '@cairn/tooling/beside'

const FILE = assetBeside(import.meta, './scenario.yaml')

export const readDemoScenario = (): Scenario => readScenario(readFileSync(FILE, 'utf8'), 'the demo scenario')
