// The public names of @tokenmill/tokenizer.
export { TokenmillError } from "./errors.js";
