// SPDX-License-Identifier: Apache-2.0
//! `#[derive(Schema)]`: an `apimachinery::schema` tree from a serde struct.
//!
//! One source: JSON names and emit rules are read from the struct's `#[serde(...)]` attributes, descriptions from its
//! doc comments; `#[schema(...)]` adds what serde does not know: `required`, `deprecated`, `preserve_unknown`,
//! `atomic`, `granular`, `merge_key = "name"`, `patch_strategy = "merge"`, `list_type = "map"`, `list_map_key = "name"`
//! (repeatable), `protobuf = 3`. On the struct, `#[schema(name = "Condition")]` sets a Go name that differs from Rust's.
//! The deriving crate has a function `crate::go_package(module_path) -> &'static str` that names the Go package.
//!
//! **Invariants.** Only structs with named fields; an unknown attribute is a compile error.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Expr, Fields, Lit, LitInt, LitStr, Meta, parse_macro_input};

/// Derives `apimachinery::schema::Schema`.
#[proc_macro_derive(Schema, attributes(schema))]
pub fn derive_schema(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new_spanned(input, "Schema can only be derived for structs"));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(syn::Error::new_spanned(input, "Schema needs named fields"));
    };
    let name = &input.ident;
    let text = facts(&input.attrs)?.name.unwrap_or_else(|| name.to_string());
    let description = doc(&input.attrs);
    let fields = named.named.iter().map(field).collect::<syn::Result<Vec<_>>>()?;
    // Servers put a new status into an object without looking at the rest of it.
    let has_status = named.named.iter().any(|field| field.ident.as_ref().is_some_and(|ident| ident == "status"));
    let take_status = has_status.then(|| {
        quote! {
            fn take_status(&mut self, from: Self) -> bool {
                self.status = from.status;
                true
            }
        }
    });
    // Of an object, servers and clients write only the parts that differ.
    let is_object = named.named.iter().any(|field| field.ident.as_ref().is_some_and(|ident| ident == "metadata"));
    let differing_fields = if is_object { Some(differing_fields(&named.named)?) } else { None };
    Ok(quote! {
        impl apimachinery::schema::Schema for #name {
            #take_status

            #differing_fields

            fn node() -> apimachinery::schema::Node {
                fn object() -> &'static apimachinery::schema::ObjectSchema {
                    static SCHEMA: ::std::sync::OnceLock<apimachinery::schema::ObjectSchema> =
                        ::std::sync::OnceLock::new();
                    SCHEMA.get_or_init(|| apimachinery::schema::ObjectSchema {
                        name: #text,
                        package: crate::go_package(module_path!()),
                        description: #description,
                        fields: vec![#(#fields),*],
                    })
                }
                apimachinery::schema::Node::Object(apimachinery::schema::ObjectRef::Static(object))
            }
        }
    })
}

#[derive(Default)]
struct Facts {
    name: Option<String>,
    rename: Option<String>,
    skip: Option<String>,
    required: bool,
    deprecated: bool,
    preserve_unknown: bool,
    merge_key: Option<String>,
    patch_strategy: Option<String>,
    topology: Option<&'static str>,
    list_map_keys: Vec<String>,
    protobuf: Option<u32>,
}

fn differing_fields<'a>(fields: impl IntoIterator<Item = &'a syn::Field>) -> syn::Result<proc_macro2::TokenStream> {
    let mut comparisons = Vec::new();
    for field in fields {
        let name = wire_name(field, &facts(&field.attrs)?);
        let ident = &field.ident;
        comparisons.push(quote! {
            if self.#ident != other.#ident {
                differing.push(#name);
            }
        });
    }
    Ok(quote! {
        fn differing_fields(&self, other: &Self) -> Option<Vec<&'static str>> {
            let mut differing = Vec::new();
            #(#comparisons)*
            Some(differing)
        }
    })
}

/// The field's name in JSON.
fn wire_name(field: &syn::Field, facts: &Facts) -> String {
    let ident = field.ident.as_ref().expect("fields are named").to_string();
    facts.rename.clone().unwrap_or_else(|| camel_case(ident.trim_start_matches("r#")))
}

fn field(field: &syn::Field) -> syn::Result<proc_macro2::TokenStream> {
    let facts = facts(&field.attrs)?;
    let name = wire_name(field, &facts);
    let description = doc(&field.attrs);
    let node = &field.ty;
    let required = facts.required;
    let emit = match facts.skip.as_deref() {
        None => quote!(Always),
        Some("Option::is_none") => quote!(Pointer),
        Some(_) => quote!(OmitEmpty),
    };
    let merge_key = option(facts.merge_key.as_deref());
    let patch_strategy = option(facts.patch_strategy.as_deref());
    let topology = syn::Ident::new(facts.topology.unwrap_or("Default"), proc_macro2::Span::call_site());
    let keys = &facts.list_map_keys;
    let (preserve_unknown, deprecated) = (facts.preserve_unknown, facts.deprecated);
    let protobuf = if let Some(number) = facts.protobuf {
        quote!(Some(apimachinery::schema::Protobuf::of(#number)))
    } else {
        quote!(None)
    };
    Ok(quote! {
        apimachinery::schema::Field {
            name: #name,
            description: #description,
            node: <#node as apimachinery::schema::Schema>::node(),
            required: #required,
            emit: apimachinery::schema::Emit::#emit,
            merge_key: #merge_key,
            patch_strategy: #patch_strategy,
            topology: apimachinery::schema::Topology::#topology,
            list_map_keys: &[#(#keys),*],
            preserve_unknown: #preserve_unknown,
            deprecated: #deprecated,
            protobuf: #protobuf,
        }
    })
}

fn option(value: Option<&str>) -> proc_macro2::TokenStream {
    if let Some(value) = value { quote!(Some(#value)) } else { quote!(None) }
}

fn facts(attributes: &[Attribute]) -> syn::Result<Facts> {
    let mut facts = Facts::default();
    for attribute in attributes {
        if attribute.path().is_ident("serde") {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    facts.rename = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("skip_serializing_if") {
                    facts.skip = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.input.peek(syn::Token![=]) {
                    meta.value()?.parse::<Expr>()?;
                }
                Ok(())
            })?;
        } else if attribute.path().is_ident("schema") {
            attribute.parse_nested_meta(|meta| {
                let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                match word.as_str() {
                    "name" => facts.name = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "required" => facts.required = true,
                    "deprecated" => facts.deprecated = true,
                    "preserve_unknown" => facts.preserve_unknown = true,
                    "atomic" => facts.topology = Some("Atomic"),
                    "granular" => facts.topology = Some("Granular"),
                    "merge_key" => facts.merge_key = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "patch_strategy" => facts.patch_strategy = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "list_map_key" => facts.list_map_keys.push(meta.value()?.parse::<LitStr>()?.value()),
                    "protobuf" => facts.protobuf = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?),
                    "list_type" => {
                        facts.topology = Some(match meta.value()?.parse::<LitStr>()?.value().as_str() {
                            "atomic" => "Atomic",
                            "set" => "Set",
                            "map" => "Map",
                            other => return Err(meta.error(format!("unknown list type `{other}`"))),
                        });
                    }
                    other => return Err(meta.error(format!("unknown schema attribute `{other}`"))),
                }
                Ok(())
            })?;
        }
    }
    Ok(facts)
}

fn doc(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(line) = &literal.lit
        {
            lines.push(line.value().trim().to_owned());
        }
    }
    lines.join(" ").trim().to_owned()
}

fn camel_case(snake: &str) -> String {
    let mut out = String::with_capacity(snake.len());
    let mut upper = false;
    for character in snake.chars() {
        if character == '_' {
            upper = true;
        } else if upper {
            out.extend(character.to_uppercase());
            upper = false;
        } else {
            out.push(character);
        }
    }
    out
}
