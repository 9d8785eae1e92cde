/** What can be learned from, and what each way needs beside a model. */

export const METHODS = ['sft', 'dpo', 'kto', 'orpo'] as const
export type Method = (typeof METHODS)[number]
export type Preference = Exclude<Method, 'sft'>

export const isPreference = (method: Method): method is Preference => method !== 'sft'

/** In the order of the op's attribute `kind`. */
export const DPO_LOSSES = ['sigmoid', 'hinge', 'ipo'] as const

/** Whether answers are compared with what the model said of them before. */
export const hasReference = (method: Method): boolean => method === 'dpo' || method === 'kto'

/** What others start with where no learning rate is given. */
export const PREFERENCE_LEARNING_RATE = 1e-6
