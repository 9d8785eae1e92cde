/** The spec's table. These settings of the benchmark cannot be changed. */
export const FIXED = {
  max_seq_length: 2048,
  per_device_train_batch_size: 2,
  gradient_accumulation_steps: 4,
  packing: true,
  lora_rank: 16,
  lora_alpha: 32,
} as const
