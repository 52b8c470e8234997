// SPDX-License-Identifier: Apache-2.0
//! A serializer for one struct (or map) that sends each field to a buffer of its own choice.

use serde::Serialize;
use serde::ser::{Error as _, Impossible, SerializeMap, SerializeStruct, Serializer};
use serde_json::Error;

use super::go::{Go, write_go};

/// The fields of `value` as `,"name":value`, in order, each in the buffer that `choose` names.
pub(super) fn split<const N: usize>(value: &impl Serialize, choose: impl Fn(&str) -> Option<usize>) -> [Vec<u8>; N] {
    let mut buffers = std::array::from_fn(|_| Vec::with_capacity(256));
    value
        .serialize(Splitter { buffers: &mut buffers, choose: &choose, current: None })
        .expect("objects are structs with text keys and finite numbers");
    buffers
}

struct Splitter<'a, F> {
    buffers: &'a mut [Vec<u8>],
    choose: &'a F,
    current: Option<usize>,
}

impl<F: Fn(&str) -> Option<usize>> Splitter<'_, F> {
    fn key(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        let buffer = &mut self.buffers[(self.choose)(name)?];
        buffer.push(b',');
        if name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            buffer.push(b'"');
            buffer.extend_from_slice(name.as_bytes());
            buffer.push(b'"');
        } else {
            write_go(buffer, name);
        }
        buffer.push(b':');
        Some(buffer)
    }
}

impl<F: Fn(&str) -> Option<usize>> SerializeStruct for Splitter<'_, F> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        if let Some(buffer) = self.key(name) {
            value.serialize(&mut serde_json::ser::Serializer::with_formatter(buffer, Go))?;
        }
        Ok(())
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl<F: Fn(&str) -> Option<usize>> SerializeMap for Splitter<'_, F> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let serde_json::Value::String(name) = serde_json::to_value(key)? else {
            return Err(Error::custom("key is no text"));
        };
        self.current = (self.choose)(&name);
        self.key(&name);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        if let Some(index) = self.current {
            value.serialize(&mut serde_json::ser::Serializer::with_formatter(&mut self.buffers[index], Go))?;
        }
        Ok(())
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$ok, Error> {
            Err(Error::custom("only structs and maps have fields"))
        })*
    };
}

impl<F: Fn(&str) -> Option<usize>> Serializer for Splitter<'_, F> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(Error::custom("only structs and maps have fields"))
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}
