//! Hugging Face's tokenizers behind a C interface, for WebAssembly. An instance has one tokenizer. The host
//! writes arguments to the buffer that `reserve` returns, and reads results from the buffers that the last
//! call filled.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use tokenizers::{AddedToken, DecoderWrapper, ModelWrapper, Tokenizer};

#[derive(Default)]
struct State {
    tokenizer: Option<Tokenizer>,
    input: Vec<u8>,
    ids: Vec<u32>,
    /// Start and end of each token in UTF-16 code units, as JavaScript counts.
    offsets: Vec<u32>,
    /// Text of a result, or the message of an error.
    text: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::new(State::default());
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

const DONE: i32 = 0;
const FAILED: i32 = 1;

/// Runs a call. The message of an error becomes the text.
fn call(run: impl FnOnce(&mut State) -> Result<(), Failure>) -> i32 {
    STATE.with_borrow_mut(|state| match run(state) {
        Ok(()) => DONE,
        Err(error) => {
            state.text = error.to_string().into_bytes();
            FAILED
        }
    })
}

impl State {
    fn argument(&self, length: usize) -> Result<&str, Failure> {
        Ok(std::str::from_utf8(&self.input[..length])?)
    }

    fn loaded(&self) -> Result<&Tokenizer, Failure> {
        self.tokenizer.as_ref().ok_or_else(|| "no tokenizer is loaded".into())
    }
}

/// Inputs above this size are rare, so their memory is not kept.
const KEPT_INPUT: usize = 1 << 20;

#[no_mangle]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        if state.input.len() < length || state.input.len() > KEPT_INPUT {
            state.input = vec![0; length];
        }
        state.input.as_mut_ptr()
    })
}

/// The ids that a tokenizer.json names, which the library does not read.
#[derive(Deserialize)]
struct NamedIds {
    #[serde(default)]
    added_tokens: Vec<NamedId>,
}
#[derive(Deserialize)]
struct NamedId {
    id: u32,
    content: String,
}

/// The argument is a tokenizer.json.
#[no_mangle]
pub extern "C" fn load(length: usize) -> i32 {
    call(|state| {
        let mut tokenizer: Tokenizer = serde_json::from_slice(&state.input[..length])?;
        let named: NamedIds = serde_json::from_slice(&state.input[..length])?;
        state.input = Vec::new();
        for NamedId { id, content } in named.added_tokens {
            expect_id(&tokenizer, &content, id)?;
        }
        tokenizer.with_truncation(None)?;
        tokenizer.with_padding(None);
        state.tokenizer = Some(tokenizer);
        Ok(())
    })
}

/// The library numbers added tokens by itself.
fn expect_id(tokenizer: &Tokenizer, content: &str, id: u32) -> Result<(), Failure> {
    match tokenizer.token_to_id(content) {
        Some(own) if own != id => Err(format!(
            "the added token {content:?} has id {id} in the file, but {own} in Hugging Face's tokenizers, \
             which number added tokens after those of the model"
        )
        .into()),
        _ => Ok(()),
    }
}

#[derive(Deserialize)]
struct NewToken {
    id: Option<u32>,
    #[serde(flatten)]
    token: AddedToken,
}

/// The argument is an array of added tokens.
#[no_mangle]
pub extern "C" fn add_tokens(length: usize) -> i32 {
    call(|state| {
        let tokens: Vec<NewToken> = serde_json::from_slice(&state.input[..length])?;
        let tokenizer = state.tokenizer.as_mut().ok_or("no tokenizer is loaded")?;
        tokenizer.add_tokens(tokens.iter().map(|new| new.token.clone()))?;
        for NewToken { id, token } in tokens {
            if let Some(id) = id {
                expect_id(tokenizer, &token.content, id)?;
            }
        }
        Ok(())
    })
}

/// Whether special tokens that are written in a text are split like other text.
#[no_mangle]
pub extern "C" fn split_special_tokens(splits: bool) -> i32 {
    call(|state| {
        let tokenizer = state.tokenizer.as_mut().ok_or("no tokenizer is loaded")?;
        tokenizer.set_encode_special_tokens(splits);
        Ok(())
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Description<'a> {
    decoder: Option<&'a DecoderWrapper>,
    dropout: Option<f32>,
    /// One more than the highest id.
    size: u32,
    max_token_bytes: usize,
    added: Vec<Added<'a>>,
}
#[derive(Serialize)]
struct Added<'a> {
    id: u32,
    #[serde(flatten)]
    token: &'a AddedToken,
}

#[no_mangle]
pub extern "C" fn describe() -> i32 {
    call(|state| {
        let tokenizer = state.loaded()?;
        let vocabulary = tokenizer.get_vocab(true);
        let added = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
        let description = Description {
            decoder: tokenizer.get_decoder(),
            dropout: match tokenizer.get_model() {
                ModelWrapper::BPE(model) => model.dropout,
                _ => None,
            },
            size: vocabulary.values().max().map_or(0, |id| id + 1),
            max_token_bytes: vocabulary.keys().map(String::len).max().unwrap_or(0),
            added: added.iter().map(|(id, token)| Added { id: *id, token }).collect(),
        };
        state.text = serde_json::to_vec(&description)?;
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn encode(length: usize, adds_special: bool, wants_offsets: bool) -> i32 {
    call(|state| {
        let text = state.argument(length)?;
        let tokenizer = state.loaded()?;
        let encoding = if wants_offsets {
            tokenizer.encode_char_offsets(text, adds_special)?
        } else {
            tokenizer.encode_fast(text, adds_special)?
        };
        let offsets = if wants_offsets { code_units(text, encoding.get_offsets()) } else { Vec::new() };
        state.ids = encoding.get_ids().to_vec();
        state.offsets = offsets;
        Ok(())
    })
}

/// Offsets in code points as offsets in UTF-16 code units.
fn code_units(text: &str, offsets: &[(usize, usize)]) -> Vec<u32> {
    let mut starts = Vec::with_capacity(text.len() + 1);
    let mut next = 0;
    for character in text.chars() {
        starts.push(next);
        next += character.len_utf16() as u32;
    }
    let at = |index: usize| starts.get(index).copied().unwrap_or(next);
    offsets.iter().flat_map(|&(start, end)| [at(start), at(end)]).collect()
}

/// The argument is ids of four bytes each, the lowest byte first.
#[no_mangle]
pub extern "C" fn decode(length: usize, skips_special: bool) -> i32 {
    call(|state| {
        let ids: Vec<u32> = state.input[..length]
            .chunks_exact(4)
            .map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]]))
            .collect();
        state.text = state.loaded()?.decode(&ids, skips_special)?.into_bytes();
        Ok(())
    })
}

/// The id of a token, or -1.
#[no_mangle]
pub extern "C" fn id_of(length: usize) -> f64 {
    STATE.with_borrow(|state| {
        let id = state.argument(length).ok().zip(state.tokenizer.as_ref());
        id.and_then(|(token, tokenizer)| tokenizer.token_to_id(token)).map_or(-1.0, f64::from)
    })
}

/// Whether an id has a token, which becomes the text: as the decoder is given it.
#[no_mangle]
pub extern "C" fn token_of(id: u32) -> bool {
    STATE.with_borrow_mut(|state| {
        let token = state.tokenizer.as_ref().and_then(|tokenizer| tokenizer.id_to_token(id));
        let has = token.is_some();
        state.text = token.unwrap_or_default().into_bytes();
        has
    })
}

#[no_mangle]
pub extern "C" fn text_start() -> *const u8 {
    STATE.with_borrow(|state| state.text.as_ptr())
}
#[no_mangle]
pub extern "C" fn text_length() -> usize {
    STATE.with_borrow(|state| state.text.len())
}
#[no_mangle]
pub extern "C" fn ids_start() -> *const u32 {
    STATE.with_borrow(|state| state.ids.as_ptr())
}
#[no_mangle]
pub extern "C" fn ids_length() -> usize {
    STATE.with_borrow(|state| state.ids.len())
}
#[no_mangle]
pub extern "C" fn offsets_start() -> *const u32 {
    STATE.with_borrow(|state| state.offsets.as_ptr())
}
