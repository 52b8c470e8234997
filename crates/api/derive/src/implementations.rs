// SPDX-License-Identifier: Apache-2.0
//! Implementations of the traits of an API type, except its schema.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;

use crate::{Emit, Member};

pub(crate) fn of(name: &Ident, members: &[Member]) -> TokenStream {
    let values = values(name, members);
    let fields = fields(name, members);
    quote! {
        #values

        #fields

        impl ::serde::Serialize for #name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                apimachinery::wire::serialize(self, serializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for #name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<Self, D::Error> {
                apimachinery::wire::deserialize(deserializer)
            }
        }
    }
}

/// Implementations of the traits that have standard derives.
fn values(name: &Ident, members: &[Member]) -> TokenStream {
    let idents: Vec<&Ident> = members.iter().map(|member| &member.ident).collect();
    let text = name.to_string();
    let other = if idents.is_empty() { quote!(_) } else { quote!(other) };
    quote! {
        #[automatically_derived]
        impl ::std::clone::Clone for #name {
            fn clone(&self) -> Self {
                Self { #(#idents: ::std::clone::Clone::clone(&self.#idents)),* }
            }
        }

        #[automatically_derived]
        impl ::std::default::Default for #name {
            fn default() -> Self {
                Self { #(#idents: ::std::default::Default::default()),* }
            }
        }

        #[automatically_derived]
        impl ::std::cmp::PartialEq for #name {
            fn eq(&self, #other: &Self) -> bool {
                true #(&& self.#idents == other.#idents)*
            }
        }

        #[automatically_derived]
        impl ::std::fmt::Debug for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                apimachinery::wire::debug(self, #text, f)
            }
        }
    }
}

fn fields(name: &Ident, members: &[Member]) -> TokenStream {
    let infos = members.iter().map(|Member { name, emit, .. }| {
        let (key, always) = (format!(",\"{name}\":"), *emit == Emit::Always);
        quote!(apimachinery::wire::FieldInfo { name: #name, key: #key, always: #always })
    });
    let idents: Vec<&Ident> = members.iter().map(|member| &member.ident).collect();
    let positions = 0..members.len();
    let positions_mut = positions.clone();
    quote! {
        impl apimachinery::wire::Wire for #name {
            fn view(&self) -> apimachinery::wire::View<'_> {
                apimachinery::wire::View::Struct(self)
            }

            fn slot(&mut self) -> apimachinery::wire::Slot<'_> {
                apimachinery::wire::Slot::Struct(self)
            }

            fn is_zero(&self) -> bool {
                apimachinery::wire::has_zero_fields(self)
            }
        }

        impl apimachinery::wire::Fields for #name {
            fn fields(&self) -> &'static [apimachinery::wire::FieldInfo] {
                static FIELDS: &[apimachinery::wire::FieldInfo] = &[#(#infos),*];
                FIELDS
            }

            fn field(&self, position: usize) -> &dyn apimachinery::wire::Wire {
                match position {
                    #(#positions => &self.#idents,)*
                    other => unreachable!("there is no field {other}"),
                }
            }

            fn field_mut(&mut self, position: usize) -> &mut dyn apimachinery::wire::Wire {
                match position {
                    #(#positions_mut => &mut self.#idents,)*
                    other => unreachable!("there is no field {other}"),
                }
            }
        }
    }
}
