/** Training methods, and what each needs besides a model. */

export const METHODS = ['sft', 'dpo', 'kto', 'orpo'] as const
export type Method = (typeof METHODS)[number]
export type Preference = Exclude<Method, 'sft'>

export const isPreference = (method: Method): method is Preference => method !== 'sft'

/** In the order of the op's attribute `kind`. */
export const DPO_LOSSES = ['sigmoid', 'hinge', 'ipo'] as const

/** Whether a method compares answers with the scores of the untrained model. */
export const hasReference = (method: Method): boolean => method === 'dpo' || method === 'kto'

/** Default learning rate of preference methods. */
export const PREFERENCE_LEARNING_RATE = 1e-6
