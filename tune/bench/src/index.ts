/**
 * Evaluation: accuracy over HTTP, throughput tables, and the demonstration, which makes its own model and
 * data.
 *
 * cell        one model in one recipe
 * generation  one reply of an evaluation, kept for audit
 * baseline    the same run by another program
 * strict      the answer after "####", as the task asks for it
 */
export {
  evaluate,
  completionsUrl,
  AUDIT_FILE,
  RESULTS_FILE,
  type EvalOptions,
  type EvalProgress,
  type EvalResult,
  type Question,
} from './eval/evaluate.ts'
export { AskError } from './eval/ask.ts'
export {
  FILTERS,
  extractAnswer,
  gsm8kRequest,
  isExactMatch,
  scoreOf,
  type FilterName,
  type Score,
} from './eval/gsm8k.ts'
export { readResult, readResults } from './matrix/read-results.ts'
export { isMeasuredWith, type RunSettings } from './matrix/run-settings.ts'
export { runMatrix, type MatrixCell, type MatrixOptions } from './matrix/run-matrix.ts'
export { BASELINES, checkPython, runBaseline, type BaselineOptions } from './matrix/run-baseline.ts'
export { readOutcome, writeMatrix, type MatrixReport } from './matrix/write-matrix.ts'
export { writePublished, type PublishedTables } from './matrix/write-published.ts'
export { markdownOf, type Table } from './matrix/tables.ts'
export { CONFIGS, FULL, QUICK, type ConfigName, type DemoConfig, type DemoPlan } from './demo/plan.ts'
export { countParameters } from './demo/new-base.ts'
export { demoReport, demoTables } from './demo/report.ts'
export { runDemo, type DemoOptions, type DemoProgress } from './demo/run-demo.ts'
export type { StartServer } from './demo/lora-server.ts'
export { serveBase } from './demo/serve-base.ts'
export {
  finalLoss,
  lossCharts,
  lossTable,
  lossesOf,
  trainLosses,
  type LossOptions,
  type LossRun,
} from './losses.ts'
