/**
 * Training: configuration, data, memory plan, steps, checkpoints and adapters.
 *
 * example   one row of a data set, read                 document   an example as tokens; never split
 * row       max_seq_length slots of documents           micro-batch   the rows of one forward pass
 * position  where in the data a run is
 */
export {
  IGNORED,
  START,
  countSteps,
  createBatches,
  padCuSeqlens,
  type Batch,
  type BatchOptions,
  type BatchSource,
  type DataPosition,
} from './data/batches.ts'
export {
  questionPrompt,
  tokenizeExamples,
  type Document,
  type DocumentOptions,
  type Documents,
  type TooLongPolicy,
  type TrainOn,
} from './data/documents.ts'
export { type Example } from './data/examples.ts'
export { readExamples } from './data/shape-reader.ts'
export { packRows } from './data/pack.ts'
export { DATA_EXTENSIONS } from './data/read-rows.ts'
export { createRandom, type Random } from './random.ts'
export {
  TEMPLATES,
  generateProblems,
  type Language,
  type Problem,
  type ProblemOptions,
  type Split,
} from './problems/generate.ts'
export {
  readAdapter,
  writeAdapter,
  type Adapter,
  type AdapterConfig,
  type AdapterTensor,
} from '@cairn-tune/weights'
export { initAdapter } from './adapter-init.ts'
export { CONFIG_KEYS, configSchema, type TrainConfig } from './config.ts'
export { readConfig } from './read-config.ts'
export { learningRateAt, type Schedule } from './schedule.ts'
export { GENERATED, loadDataset, type Dataset, type DatasetOptions } from './data/load-dataset.ts'
export { readRows, type ShownRow, type ShownRows } from './data/show-rows.ts'
export { mergeAdapter } from './merge.ts'
export {
  STORED_NVFP4,
  configJsonOfShape,
  configOfShape,
  writeModelFromConfig,
  writeNewModel,
} from './new-model.ts'
export { SHAPES, type ShapeName } from './shapes.ts'
export {
  MATMULS,
  QUANTIZED_RECIPES,
  RECIPES,
  RECIPE_TABLE,
  type MatmulName,
  type MatmulSpec,
  type Recipe,
  type RecipeSpec,
} from './recipes.ts'
export { type StepMetrics, type TrainOptions, type TrainResult } from './metrics.ts'
export { OutOfMemoryError, DivergedError, RanksError } from './errors.ts'
export { memoryText, type MemoryEstimate } from './estimate.ts'
export { bytesText, memoryBudget, parseBytes } from './memory-budget.ts'
export { lossChart, type ChartOptions, type Series } from './loss-chart.ts'
export { hardwareText, readMetrics } from './run-files.ts'
export { train } from './train.ts'
export { VERSION } from '@cairn/tooling/version'
export { estimate, type RunEstimate } from './estimate-run.ts'
export { configKeys, type ConfigKey } from './config-keys.ts'
export { recipesText } from './recipes-text.ts'
